// The bar at the bottom of the window: buttons, scrubber, clock, speed; and the keys that do the same.

const transport = find('.lv-transport');
const seeker = find('.lv-seek');
const speeds = find('.lv-speed');
const clocks = transport.querySelectorAll('[data-clock]');

// How a speed is called; on a phone there is room for little.
function paceOf(rate, short) {
  if (player.clock === 'pass') return short ? `${rate}/s` : rate === 1 ? '1 pass/s' : `${rate} passes/s`;
  const times = rate === 1 ? '1' : `1/${Math.round(1 / rate)}`;
  return short ? times : rate === 1 ? 'real time' : `${times} speed`;
}

const whereNode = find('.lv-where');
const ahead = find('.lv-ahead i');

function drawTransport() {
  const end = longest();
  const by = player.clock;
  const steps = by === 'pass';
  // with reduced motion the scrubber goes from round to round as the lanes do
  const at = steps ? Math.floor(player.at + CLOSE) : calm.matches ? Math.max(0, ...lanes.map(({ track }) => track.secondsAt(shownOf(track)))) : player.at;
  const text = steps ? `pass ${at} of ${end}` : `${at.toFixed(2)} s of ${end.toFixed(2)} s`;
  put(whereNode, text);
  mark(seeker, 'step', steps ? 1 : 'any');
  mark(seeker, 'max', end || 1);
  seeker.value = at;
  mark(seeker, 'aria-valuetext', text);
  ahead.style.transform = `translateX(${end ? Math.min(100, (100 * at) / end) : 0}%)`;
  const going = player.playing || (player.live && player.following);
  root.classList.toggle('moving', going && !calm.matches);
  mark(transport, 'data-playing', going);
  mark(find('.lv-play', transport), 'aria-label', going ? 'Pause' : 'Play');
  find('.lv-live', transport).hidden = !player.live || player.following;
  for (const each of clocks) mark(each, 'aria-pressed', each.dataset.clock === by);
  drawSpeeds();
  drawWave();
}

function drawSpeeds() {
  const short = root.classList.contains('under-560');
  if (speeds.dataset.kind !== player.clock + short) {
    speeds.dataset.kind = player.clock + short;
    speeds.replaceChildren(...SPEEDS[player.clock].map((rate) => {
      const option = make('option', '', paceOf(rate, short));
      option.value = rate;
      return option;
    }));
  }
  const now = String(speed());
  if (speeds.value !== now) speeds.value = now;
}

// What is shown now, in words.
function where() {
  return [whereNode.textContent + ', tokens', ...lanes.map((lane) => `${lane.track.lane.title} ${lane.track.countsAt(shownOf(lane.track))[0]}`)].join(', ');
}

const MOVES = {
  restart: () => seek(0),
  back: () => step(-1),
  play: () => play(),
  on: () => step(1),
  live: () => follow(),
  end: () => seek(longest()),
};

function move(name) {
  MOVES[name]();
  if (name !== 'play' || !player.playing) requestAnimationFrame(() => say(where()));
}

transport.addEventListener('click', (event) => {
  const pressed = event.target.closest('button');
  if (pressed?.dataset.move) move(pressed.dataset.move);
  if (pressed?.dataset.clock) setClock(pressed.dataset.clock);
});
seeker.addEventListener('input', () => {
  player.playing = false;
  seek(Number(seeker.value));
});
seeker.addEventListener('keydown', (event) => {
  // by time the steps are the ends of rounds, which a range does not know
  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
  if (player.clock === 'time' && moves[event.key]) {
    event.preventDefault();
    step(moves[event.key]);
  }
});
speeds.addEventListener('change', () => {
  player.speed[player.clock] = Number(speeds.value);
});

// ---- keys ---------------------------------------------------------------------------------------------------------

const KEYS = { ' ': 'play', ArrowLeft: 'back', ArrowRight: 'on', Home: 'restart', End: 'end' };
const TYPING = 'input, textarea, select, [contenteditable], [role=listbox], [role=combobox], [role=slider], [role=radio], [role=tab], dialog';
const PRESSING = 'button, summary, a[href], [role=button]'; // the space bar presses these
const SCROLLING = '.lv-scroll, .lv-table, .lv-canvas, .lv-asked'; // arrow keys scroll or walk in these

let inView = false;
new IntersectionObserver((seen) => {
  inView = seen.at(-1).isIntersecting;
}).observe(root);

function onKey(event) {
  if (!root.isConnected) return removeEventListener('keydown', onKey);
  const name = KEYS[event.key];
  const on = event.target;
  if (!name || !inView || !lanes.length || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (!(on instanceof Element) || (on.closest(TYPING) && !(on === seeker && name === 'play')) || on.closest(name === 'play' ? PRESSING : SCROLLING)) return;
  event.preventDefault();
  move(name);
}
addEventListener('keydown', onKey);
