// One figure: title and caption, its plot, the numbers as a table, pictures to save. The plot is one node for the life of
// the page, drawn again in place, so that zoom and hover survive while a race streams in.

const OFTEN = 12; // while a race runs, a plot takes at most one part in so many of the browser's time
let look = 0; // counts changes of theme and size

class FigureCard {
  constructor(name) {
    this.name = name;
    this.near = false;
    this.drawn = '';
    this.at = -Infinity;
    this.cost = 0;
    this.node = make('figure', 'lv-figure');
    this.node.dataset.figure = name;
    const caption = make('figcaption');
    caption.append((this.title = make('h2')), (this.caption = make('p')));
    this.scroll = make('div', 'lv-scroll');
    const frame = make('div', 'lv-frame');
    const layer = make('div', 'lv-over');
    frame.append((this.plot = make('div', 'lv-plot')), layer);
    this.plot.setAttribute('role', 'img');
    this.scroll.append(frame);
    this.frame = frame;
    this.cursors = new Cursors(this.plot, layer);
    this.zoom = new Zoom(this.plot);
    this.node.append(caption, this.scroll);
    if (name.startsWith('tree-')) {
      this.panel = new Panel(Number(name.slice(5)));
      this.node.append(this.panel.node);
    }
    const foot = make('div', 'lv-foot');
    foot.append(this.numbers(), this.savers());
    this.node.append(foot);
    nearby.observe(this.node);
  }

  savers() {
    const group = make('div', 'lv-acts');
    for (const format of ['png', 'svg']) {
      const save = button('lv-quiet', format.toUpperCase(), () => saveImage(this.name, this.figure, format).catch((error) => trouble(error.message)));
      save.dataset.save = format;
      save.title = `Save this figure as ${format.toUpperCase()}`;
      group.append(save);
    }
    return group;
  }

  // The table is filled when it is opened: it can be long.
  numbers() {
    const details = make('details');
    this.table = make('div', 'lv-table');
    details.append(make('summary', '', 'The numbers as a table'), this.table);
    details.addEventListener('toggle', () => this.tell());
    this.details = details;
    return details;
  }

  tell() {
    if (!this.details.open || this.told === this.text) return;
    this.told = this.text;
    this.table.replaceChildren(table(this.figure.table.head, this.figure.table.rows));
    this.table.tabIndex = 0;
    this.table.setAttribute('role', 'region');
    this.table.setAttribute('aria-label', this.figure.title + ', as a table');
  }

  get figure() {
    if (this.parsed !== this.text) {
      this.parsed = this.text;
      this.value = JSON.parse(this.text);
    }
    return this.value;
  }

  read(text) {
    this.text = text;
    if (!this.value) this.describe();
  }

  describe() {
    const { title, caption, summary } = this.figure;
    put(this.title, title);
    put(this.caption, caption);
    this.plot.setAttribute('aria-label', summary);
    this.plot.style.minHeight = this.figure.plots[this.clock].layout.height + 'px'; // so that drawing moves nothing
  }

  get clock() {
    return this.figure.plots[player.clock] ? player.clock : 'pass';
  }

  // The text is compared as a whole: it is a string the browser keeps once.
  get stale() {
    if (this.drawn === this.text && this.drawnAs === this.clock + look) return false;
    return !player.live || performance.now() - this.at > OFTEN * this.cost;
  }

  async draw() {
    this.drawn = this.text;
    this.drawnAs = this.clock + look;
    const library = await loadPlotly();
    const began = performance.now();
    this.describe();
    this.tell();
    const { data, layout } = this.figure.plots[this.clock];
    this.makeRoom(library, layout);
    if (!this.plot.data) this.plot.textContent = '';
    const width = Math.max(this.scroll.clientWidth, layout.meta?.width ?? 0);
    this.plot.style.width = width + 'px'; // else the drawing that is there holds its frame open where there is less room now
    const wide = { ...this.zoom.within(themed(layout, width), this.clock), uirevision: run + this.clock };
    await library.react(this.plot, data.map(kept), wide, { responsive: false, displaylogo: false, displayModeBar: false, doubleClick: false });
    if (!this.heard) this.listen();
    this.renew();
    this.at = performance.now();
    this.cost = this.at - began;
  }

  // Plotly cannot move from one set of axes to another in place; that is another number of lanes, never one run's growth.
  makeRoom(library, layout) {
    const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key)).join();
    if (this.plot.data && axes !== this.axes) {
      library.purge(this.plot);
      this.heard = false;
      this.zoom.forget();
    }
    this.axes = axes;
  }

  listen() {
    this.heard = true;
    for (const name of ['plotly_afterplot', 'plotly_relayout', 'plotly_relayouting']) this.plot.on(name, () => this.renew());
    this.plot.on('plotly_doubleclick', () => this.unzoom());
    this.plot.on('plotly_click', ({ points }) => {
      const node = points[0]?.customdata;
      if (this.panel && Array.isArray(node)) pickBranch(...node);
    });
  }

  unzoom() {
    this.zoom.forget();
    this.drawnAs = '';
    drawFigures();
  }

  renew() {
    this.room = this.scroll.clientWidth;
    this.wide = this.frame.scrollWidth;
    this.reach(this.wide > this.room + 1);
    this.cursors.renew();
    this.followed = -1;
    this.follow();
  }

  // What scrolls must be reached by keys, and then have a name.
  reach(scrolls) {
    const names = { tabindex: 0, role: 'region', 'aria-label': this.figure.title };
    for (const [name, value] of Object.entries(names)) {
      if (scrolls) mark(this.scroll, name, value);
      else this.scroll.removeAttribute(name);
    }
  }

  move() {
    if (!this.near) return;
    this.panel?.show();
    if (!this.heard) return;
    this.cursors.move();
    this.follow();
  }

  // A plot wider than its card scrolls with the position, which stays in the middle.
  follow() {
    if (this.panel) this.cursors.mark(...this.panel.point);
    const { place } = this.cursors;
    if (this.wide <= this.room || place === this.followed) return;
    if (this.followed < 0) this.scroll.scrollLeft = place - this.room / 2;
    else later(this.scroll, place - this.room / 2);
    this.followed = place;
  }

  fail(error) {
    if (!this.plot.data) this.plot.textContent = error.message;
  }
}

// Scrolling in the middle of a frame would lay out the page twice: it waits for the start of the next one.
const scrolls = new Map();
function later(node, left) {
  if (!scrolls.size) requestAnimationFrame(() => {
    for (const [each, place] of scrolls) each.scrollLeft = place;
    scrolls.clear();
  });
  scrolls.set(node, left);
}
