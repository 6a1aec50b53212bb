// The whole state. It may grow in many steps or come whole: what is known already is skipped either way.

let run = null;

function draw() {
  const state = props.value;
  const alone = state?.only === 'figures'; // no race: the curves of a benchmark
  root.classList.toggle('only-figures', alone);
  if (alone) readFigures(state.figures);
  if (!state?.lanes) return;
  const began = state.run !== run || state.lanes.length !== lanes.length;
  const ended = player.live && state.status !== 'running';
  player.live = state.status === 'running';
  waiting = false;
  if (began) begin(state);
  state.lanes.forEach((lane, index) => lanes[index].read(lane));
  if (player.following) player.at = longest();
  find('.lv-asked').textContent = visible(state.prompt);
  find('.lv-legend-back').hidden = !lanes.some(({ track }) => track.lives.size);
  drawTools(state);
  drawCard(state.card);
  readFigures(state.figures);
  for (const card of cards.values()) if (card.panel) card.panel.state = '';
  if (began) drawPosition(); // at once, so that the first paint is whole
  else refresh();
  if (ended && state.card) say(state.card.headline);
}

function begin(state) {
  run = state.run;
  hideTip(true);
  lanes = state.lanes.map((lane, index) => new Lane(lane, index));
  const place = find('.lv-lanes');
  place.replaceChildren(...lanes.map(({ node }) => node));
  place.dataset.count = lanes.length;
  player.playing = false;
  player.following = true;
  player.speed.time = null;
  explained = null;
  find('.lv-stage').hidden = false;
  transport.hidden = false;
  root.classList.add('has-run');
}

// For tests and benchmarks. `seek` draws what is in sight at once, so that a frame can be timed; all: the rest too.
element.viewer = {
  seek(position, all = false) {
    player.playing = false;
    seek(position);
    drawPosition();
    if (all) for (const lane of lanes) lane.draw();
  },
  state: () => ({ clock: player.clock, at: player.at, end: longest(), playing: player.playing, following: player.following, live: player.live, shown: lanes.map(({ track }) => shownOf(track)), run }),
  clock: (name) => setClock(name),
  play: (on) => play(on),
  figures: () => [...cards.values()].map(({ name, near, cost, heard, stale }) => ({ name, near, cost, drawn: Boolean(heard) && !stale && !drawing })),
};

draw();
watch('value', draw);
(window.requestIdleCallback ?? setTimeout)(() => loadPlotly().catch(() => {})); // before it is needed, out of the way
