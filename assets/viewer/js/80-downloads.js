// What can be taken along: the traces as a file, and the whole viewer with this race as one HTML page.

function saveUrl(name, url) {
  const link = make('a');
  link.href = url;
  link.download = name;
  link.click();
}

function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  saveUrl(name, url);
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// The trace format of lopa_core/trace/files.py. Rounds are joined as the texts they came as: no number is written anew.
function traceFile(state) {
  const traces = state.lanes.map(({ head, rounds, decoder, reason, end_ids, mask_id, special, forced, tokens, texts, pieces }) => {
    const plain = { ...head, decoder, reason, end_ids, mask_id, special, forced, tokens, texts, pieces };
    return JSON.stringify(plain).slice(0, -1) + ',"rounds":[' + rounds.join(',') + ']}';
  });
  return '{"format":"lopa-trace","version":3,"traces":[' + traces.join(',') + ']}';
}

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let letters = '';
  for (let i = 0; i < bytes.length; i += 32768) letters += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(letters);
}

const escaped = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

// The same page that lopa_core/view/replay.py makes.
async function replayPage(state) {
  const { page, lead, css, js, skeleton } = props.replay;
  const script = await fetch(props.plotly_url);
  if (!script.ok) throw new Error('The chart library could not be loaded, so no replay was made.');
  const alone = {
    ...state,
    source: { ...state.source, kind: 'recorded' },
    what_if: 'A recording cannot be decoded on from: open it on a page that has its model.',
  };
  const parts = {
    title: escaped(`LoPA Side by Side: ${state.prompt.slice(0, 80)}`),
    lead: escaped(lead),
    css, skeleton, js,
    plotly: await packed(await script.text()),
    state: await packed(JSON.stringify(alone)),
  };
  return page.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

function trouble(text) {
  const node = find('.lv-trouble');
  node.hidden = !text;
  put(node, text);
}

async function saveReplay(pressed) {
  pressed.disabled = true;
  try {
    save('lopa-replay.html', 'text/html', await replayPage(props.value));
    trouble('');
  } catch (error) {
    trouble(error.message);
  }
  pressed.disabled = props.value.status === 'running';
}

const ACTS = {
  trace: () => save('lopa-trace.json', 'application/json', traceFile(props.value)),
  replay: (pressed) => saveReplay(pressed),
  keys: () => find('.lv-help').showModal(),
};

find('.lv-tools').addEventListener('click', (event) => {
  const pressed = event.target.closest('button');
  if (pressed) ACTS[pressed.dataset.act](pressed);
});
find('.lv-help').addEventListener('click', (event) => {
  if (event.target === event.currentTarget) event.target.close(); // beside it
});

function drawTools(state) {
  const { kind, text } = state.source;
  const running = state.status === 'running';
  const badge = find('.lv-badge');
  badge.dataset.kind = kind;
  put(badge, kind === 'live' ? 'Live' : 'Recorded');
  put(find('.lv-source span'), text.replace(/^(Recorded|Live) /, ''));
  find('[data-act="trace"]').disabled = running;
  find('[data-act="replay"]').disabled = running;
  find('[data-act="replay"]').hidden = !props.replay;
}
