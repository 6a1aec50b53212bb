// Where in the recording the page is. By pass, `at` counts forward passes: every lane shows its first `at` rounds, or
// all it has. By time, `at` is in seconds on the decodes' own clocks: a lane shows the rounds that had ended by then.

const SPEEDS = { pass: [1, 2, 4, 8, 16], time: [1, 1 / 2, 1 / 4, 1 / 10, 1 / 50] };
const LASTS = 4; // seconds that a race by real time should last at least
const CLOSE = 1e-9;

let lanes = [];
const player = { clock: 'pass', at: 0, playing: false, following: true, live: false, speed: { pass: 4, time: null }, drawn: 0 };

const longest = (clock = player.clock) => Math.max(0, ...lanes.map(({ track }) => (clock === 'pass' ? track.rounds.length : track.total)));
const shownOf = (track) => (player.clock === 'pass' ? Math.min(Math.floor(player.at + CLOSE), track.rounds.length) : track.before(player.at + CLOSE));

function speed() {
  const chosen = player.speed[player.clock];
  return chosen ?? SPEEDS.time.find((rate) => longest() / rate >= LASTS) ?? SPEEDS.time.at(-1);
}

// The ends of all rounds of all lanes, where a step by time stops.
function stops() {
  return [0, ...lanes.flatMap(({ track }) => track.seconds)].sort((a, b) => a - b);
}

// Goes to a position; at the end of a run under way it keeps to the end.
function seek(at) {
  const end = longest();
  player.at = Math.max(0, Math.min(at, end));
  player.following = player.at >= end - CLOSE;
  refresh();
}

function step(move) {
  player.playing = false;
  if (player.clock === 'pass') seek(Math.floor(player.at + CLOSE) + move);
  else {
    const ends = stops();
    seek((move > 0 ? ends.find((end) => end > player.at + CLOSE) : ends.findLast((end) => end < player.at - CLOSE)) ?? (move > 0 ? longest() : 0));
  }
}

function play(on = !player.playing && !(player.live && player.following)) {
  const ended = player.at >= longest() - CLOSE;
  if (on && ended && player.live) return follow();
  player.playing = on;
  player.following = false;
  if (on && ended) player.at = 0;
  player.drawn = 0;
  refresh();
}

function follow() {
  player.playing = false;
  player.following = true;
  player.at = longest();
  refresh();
}

// The other clock at the same moment of the race.
function setClock(clock) {
  if (player.clock === clock) return;
  const shown = lanes.map(({ track }) => shownOf(track));
  const ended = player.at >= longest() - CLOSE;
  player.clock = clock;
  const here = lanes.map(({ track }, index) => (clock === 'pass' ? shown[index] : track.secondsAt(shown[index])));
  player.at = ended ? longest() : Math.max(0, ...here);
  drawTransport(); // at once: the scrubber has another scale
  drawFigures();
  refresh();
}

// So many milliseconds have gone by.
function advance(now) {
  const gone = player.drawn ? Math.min(0.25, (now - player.drawn) / 1000) : 0;
  player.drawn = now;
  player.at += gone * speed();
  if (player.at < longest()) return;
  player.at = longest();
  player.playing = false;
  player.following = true;
}

// ---- one drawing per frame, however many wishes ------------------------------------------------------------------

let wished = false;

function refresh() {
  if (wished) return;
  wished = true;
  requestAnimationFrame((now) => {
    wished = false;
    if (player.playing) advance(now);
    drawPosition();
    if (player.playing) refresh();
  });
}

function drawPosition() {
  for (const lane of lanes) lane.show(shownOf(lane.track));
  drawTransport();
  for (const card of cards.values()) card.move();
  drawHow();
  renewTip();
}
