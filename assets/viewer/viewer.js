// Draws the page's state (see lopa_core/page/state.py) into the skeleton of viewer.html.
// Gradio runs this once with `element`, `props` and `watch`. Text of users and models enters the DOM by textContent
// only. A state may grow in many steps or come whole: rounds that are already drawn are skipped either way.

const root = element.querySelector('.lv');
const find = (selector, from = root) => from.querySelector(selector);
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function make(tag, className = '', text = '') {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== '') node.textContent = text;
  return node;
}

// ---- lanes -------------------------------------------------------------------------------------------------------

const COUNTERS = { rounds: 'forward passes', tokens: 'tokens', tpf: 'tokens per pass', seconds: 'seconds' };
const ENDINGS = { complete: 'canvas full', eos: 'done', 'round limit': 'round limit reached', stopped: 'stopped' };

class Lane {
  constructor(node, lane, kind) {
    this.node = node;
    this.drawn = 0;
    this.end = Infinity; // slot of the first committed end-of-text
    this.filled = 0;
    node.replaceChildren();
    const head = make('header');
    head.append(make('h2', '', lane.title), (this.status = make('span', 'lv-status')));
    this.status.setAttribute('role', 'status');
    const bar = make('div', 'lv-bar');
    bar.append((this.bar = make('i')));
    const list = make('dl', 'lv-counters');
    this.counters = {};
    for (const [name, label] of Object.entries(COUNTERS)) {
      const item = make('div');
      item.append(make('dt', '', label), (this.counters[name] = make('dd', '', '0')));
      list.append(item);
    }
    this.canvas = make('div', 'lv-canvas');
    this.canvas.setAttribute('role', 'group');
    this.canvas.setAttribute('aria-label', lane.title + ': tokens of the canvas');
    this.slots = Array.from({ length: lane.slots }, (_, slot) => {
      const chip = make('span', 'lv-t mask', '·');
      if (slot && slot % lane.block_size === 0) chip.classList.add('block');
      return chip;
    });
    this.canvas.append(...this.slots);
    this.foot = make('p', 'lv-scale');
    this.foot.append('pass 1', make('i'), (this.last = make('span')));
    node.append(head, bar, list, this.canvas, this.foot);
    node.dataset.kind = kind;
  }

  update(lane) {
    const rounds = lane.rounds.slice(this.drawn).map((each) => (typeof each === 'string' ? JSON.parse(each) : each));
    rounds.forEach((each, index) => this.commit(each, this.drawn + index + 1, lane));
    if (rounds.length) this.guess(rounds.at(-1), lane);
    this.drawn = lane.rounds.length;
    this.node.style.setProperty('--rounds', Math.max(2, this.drawn));
    this.last.textContent = 'pass ' + Math.max(1, this.drawn);
    for (const [name, node] of Object.entries(this.counters)) {
      const value = lane.counters[name];
      node.textContent = name === 'seconds' || name === 'tpf' ? value.toFixed(2) : String(value);
    }
    const over = lane.status !== 'running';
    const part = over && lane.reason !== 'stopped' ? 1 : this.filled / Math.min(lane.slots, this.end + 1);
    this.bar.style.width = Math.min(100, 100 * part) + '%';
    this.node.dataset.status = lane.status;
    const said = !over ? 'decoding' : lane.status === 'stopped' ? 'stopped' : ENDINGS[lane.reason] || lane.reason;
    if (this.status.textContent !== said) this.status.textContent = said;
  }

  commit(round, number, lane) {
    const best = round.branches[round.winner];
    if (best.slot !== null) this.write(best.slot, best.token, best.probability, number, lane, true);
    for (const i of round.filled) this.write(round.slots[i], round.tokens[i], round.probabilities[i], number, lane, false);
  }

  write(slot, token, probability, number, lane, brought) {
    const chip = this.slots[slot];
    if (!chip) return;
    const piece = pieceOf(lane, token);
    const special = token === lane.eos_id;
    chip.className = 'lv-t done' + (brought ? ' brought' : '') + (special ? ' special' : '') + blockOf(chip);
    chip.textContent = special ? 'end' : (slot ? piece : piece.trimStart()).replaceAll('\n', '↵\n');
    chip.style.setProperty('--r', number);
    chip.title = `“${shown(piece)}” · probability ${probability.toFixed(3)} · pass ${number}` + (brought ? ' · brought by lookahead' : '');
    this.filled += 1;
    if (special && slot < this.end) {
      this.end = slot;
      this.slots.forEach((each, index) => each.classList.toggle('after', index > slot));
    } else if (slot > this.end) chip.classList.add('after');
  }

  guess(round, lane) {
    round.slots.forEach((slot, i) => {
      const chip = this.slots[slot];
      if (!chip || chip.classList.contains('done')) return;
      const piece = pieceOf(lane, round.tokens[i]);
      const special = round.tokens[i] === lane.eos_id;
      chip.className = 'lv-t ghost' + (special ? ' special' : '') + blockOf(chip) + (slot > this.end ? ' after' : '');
      chip.textContent = special ? 'end' : piece.replaceAll('\n', '↵');
      chip.title = `guess “${shown(piece)}” · probability ${round.probabilities[i].toFixed(3)} · not committed`;
    });
  }
}

const pieceOf = (lane, token) => lane.pieces[token] ?? ` ${token}`;
const blockOf = (chip) => (chip.classList.contains('block') ? ' block' : '');
const shown = (piece) => piece.replaceAll('\n', '↵');

// ---- score-card and tables -------------------------------------------------------------------------------------

function table(head, rows) {
  const node = make('table');
  const top = node.createTHead().insertRow();
  for (const text of head) {
    const cell = make('th', '', text);
    cell.scope = 'col';
    top.append(cell);
  }
  const body = node.createTBody();
  for (const [first, ...rest] of rows) {
    const line = body.insertRow();
    const cell = make('th', '', first);
    cell.scope = 'row';
    line.append(cell, ...rest.map((text) => make('td', '', text)));
  }
  return node;
}

function drawCard(card) {
  const node = find('.lv-card');
  node.hidden = !card;
  if (!card) return;
  const numbers = table(['', ...card.columns], card.rows.map((row) => [row.label, ...row.values]));
  card.rows.forEach((row, index) => {
    if (row.better !== null) numbers.tBodies[0].rows[index].cells[row.better + 1].classList.add('better');
  });
  const words = make('details');
  const list = make('dl');
  for (const [term, meaning] of card.definitions) list.append(make('dt', '', term), make('dd', '', meaning));
  words.append(make('summary', '', 'What the numbers mean'), list);
  const aside = make('aside');
  aside.append(make('p', 'lv-agree', card.agreement), make('p', 'lv-remark', card.remark), words);
  node.replaceChildren(make('h2', '', card.headline), numbers, aside);
  const said = find('.lv-said');
  if (said.textContent !== card.headline) said.textContent = card.headline;
}

// ---- figures: one Plotly node each for the life of the page ------------------------------------------------------

const figures = {};
let plotly = null;

function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = make('script');
    script.src = props.plotly_url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      plotly = null; // the next figure tries again
      reject(new Error('The chart library could not be loaded; run again to try once more.'));
    };
    document.head.append(script);
  });
  return plotly;
}

function themed(layout, narrow) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(name).trim();
  const grid = { gridcolor: colour('--lv-line'), linecolor: colour('--lv-line'), zerolinecolor: colour('--lv-line'), fixedrange: matchMedia('(pointer: coarse)').matches };
  const axes = Object.fromEntries(Object.keys(layout).filter((key) => /^[xy]axis/.test(key)).map((key) => [key, { ...layout[key], ...grid }]));
  const paper = colour('--lv-card');
  return {
    ...layout, ...axes, autosize: true, paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', uirevision: 'kept',
    height: layout.height + (narrow ? 90 : 0),
    margin: { ...layout.margin, t: narrow ? 78 : layout.margin.t, b: narrow && layout.meta?.scale ? 112 : layout.margin.b },
    font: { family: style.fontFamily, size: 12.5, color: colour('--lv-muted') },
    hoverlabel: { bgcolor: paper, bordercolor: colour('--lv-line'), font: { color: colour('--lv-ink'), family: style.fontFamily } },
  };
}

// on a narrow page a scale of colours lies under the plot instead of beside it
const fitted = (trace, narrow) => !narrow || !trace.marker?.colorbar ? trace
  : { ...trace, marker: { ...trace.marker, colorbar: { ...trace.marker.colorbar, orientation: 'h', len: 1, y: -0.3, yanchor: 'top', title: { text: 'branch confidence', side: 'bottom' } } } };

async function drawFigure(name, text, live) {
  const node = find(`[data-figure="${name}"]`);
  const mine = (figures[name] ??= { text: '', at: -Infinity, cost: 0 });
  if (!text || mine.text === text) return;
  if (live && performance.now() - mine.at < 5 * mine.cost) return; // on a slow machine the lanes come first
  mine.text = text;
  mine.figure = JSON.parse(text);
  node.hidden = false;
  const plot = find('.lv-plot', node);
  plot.setAttribute('aria-label', mine.figure.summary);
  find('.lv-table', node).replaceChildren(table(mine.figure.table.head, mine.figure.table.rows));
  await react(node, mine);
}

async function react(node, mine) {
  const library = await loadPlotly();
  const began = performance.now();
  const { data, layout } = mine.figure;
  const plot = find('.lv-plot', node);
  if (!plot.data) plot.textContent = '';
  plot.style.minWidth = (layout.meta?.width ?? 0) + 'px';
  const narrow = root.clientWidth < 560;
  await library.react(plot, data.map((trace) => fitted(trace, narrow)), themed(layout, narrow), { responsive: true, displaylogo: false, displayModeBar: false });
  mine.at = performance.now();
  mine.cost = mine.at - began;
}

// ---- the whole state ----------------------------------------------------------------------------------------------

let run = null;
let lanes = [];

function draw() {
  const state = props.value;
  if (!state || !state.traces) return;
  if (state.run !== run) {
    run = state.run;
    const nodes = root.querySelectorAll('.lv-lane');
    lanes = state.traces.map((lane, index) => new Lane(nodes[index], lane, index ? 'lopa' : 'baseline'));
    find('.lv-asked').textContent = state.prompt;
    find('.lv-stage').hidden = false;
    root.classList.add('has-run');
  }
  root.classList.toggle('calm', calm.matches || state.status !== 'running');
  state.traces.forEach((lane, index) => lanes[index].update(lane));
  drawCard(state.card);
  for (const [name, text] of Object.entries(state.figures)) drawFigure(name, text, state.status === 'running').catch((error) => failed(name, error));
}

function failed(name, error) {
  figures[name].text = '';
  const plot = find(`[data-figure="${name}"] .lv-plot`);
  if (!plot.data) plot.textContent = error.message;
}

function recolour() {
  for (const [name, mine] of Object.entries(figures)) if (mine.figure) react(find(`[data-figure="${name}"]`), mine).catch((error) => failed(name, error));
}

new MutationObserver(recolour).observe(document.body, { attributes: true, attributeFilter: ['class'] });
draw();
watch('value', draw);
(window.requestIdleCallback ?? setTimeout)(() => loadPlotly().catch(() => {}));
