// A lane: one decoder's card, as of the number of rounds shown. Out of sight it is drawn only once the position rests.

const COUNTERS = { rounds: 'forward passes', tokens: 'tokens', tpf: 'tokens per pass', seconds: 'seconds' };
const ENDINGS = { complete: 'canvas full', eos: 'done', 'round limit': 'round limit reached', stopped: 'stopped' };

const slim = new ResizeObserver((seen) => {
  for (const { target } of seen) target.classList.toggle('slim', target.clientWidth < 440);
});

const RESTS = 60; // ms
const sighted = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    const lane = lanes[target.dataset.lane];
    if (lane?.node !== target) continue;
    lane.near = isIntersecting;
    if (isIntersecting) lane.draw();
  }
}, { rootMargin: '150px 0px' });

class Lane {
  constructor(lane, index) {
    this.track = new Track(lane);
    this.shown = -1;
    this.drawn = -1;
    this.near = true; // until it is known better
    this.node = make('article', 'lv-lane');
    this.node.dataset.lane = index;
    this.node.dataset.role = lane.role;
    this.node.dataset.decoder = lane.decoder;
    const head = make('header');
    head.append((this.title = make('h2', '', lane.title)), (this.status = make('span', 'lv-status')));
    const bar = make('div', 'lv-bar');
    bar.append((this.bar = make('i')));
    const list = make('dl', 'lv-counters');
    this.counters = {};
    for (const [name, label] of Object.entries(COUNTERS)) {
      const item = make('div');
      item.append(make('dt', '', label), (this.counters[name] = make('dd', '', '0')));
      this.counters[name].dataset.counter = name;
      list.append(item);
    }
    this.tokens = new Tokens(this.track, lane.title + ': tokens of the canvas');
    this.foot = make('p', 'lv-scale');
    this.foot.append('pass 1', make('i'), (this.last = make('span')));
    this.node.append(head, bar, list, this.tokens.node, this.foot);
    slim.observe(this.node);
    sighted.observe(this.node);
  }

  read(lane) {
    this.track.read(lane);
    this.drawn = -1;
    const rounds = this.track.rounds.length;
    this.node.style.setProperty('--rounds', Math.max(2, rounds));
    put(this.title, lane.title);
    put(this.last, 'pass ' + Math.max(1, rounds));
    this.node.dataset.status = lane.status;
  }

  show(n) {
    this.shown = n;
    if (this.drawn === n) return;
    clearTimeout(this.resting);
    if (this.near) this.draw();
    else this.resting = setTimeout(() => this.draw(), RESTS);
  }

  draw() {
    const { track, shown: n } = this;
    if (this.drawn === n || n < 0) return;
    this.drawn = n;
    const all = track.rounds.length;
    const [tokens, seconds] = track.countsAt(n);
    put(this.counters.rounds, String(n));
    put(this.counters.tokens, String(tokens));
    put(this.counters.tpf, n ? (tokens / n).toFixed(2) : '0.00');
    put(this.counters.seconds, seconds.toFixed(2));
    const whole = track.over && track.lane.reason !== 'stopped' ? track.filled[all] : track.lane.slots;
    this.bar.style.transform = `scaleX(${whole ? track.filled[n] / whole : 0})`;
    mark(this.node, 'data-shown', n < all ? 'midway' : 'latest');
    put(this.status, this.said(n, all));
    this.tokens.paint({ n, seen: track.seen(n), fresh: n < all || !track.over ? n - 1 : -1 });
  }

  said(n, all) {
    if (n < all) return n ? `pass ${n} of ${all}` : 'not begun';
    if (!this.track.over) return 'decoding';
    return this.track.lane.status === 'stopped' ? 'stopped' : ENDINGS[this.track.lane.reason] || this.track.lane.reason;
  }
}
