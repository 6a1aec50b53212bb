// "How LoPA works", drawn from the race on screen: the pass nearest to the position in which a lookahead won.

const NEAR = 9; // slots in an excerpt
const FEW = 3; // branches drawn
let explained = ''; // '': the example made by hand
const byHand = ['fill', 'look', 'keep'].map((name) => [name, [...find(`[data-step="${name}"]`).children]]);
const byHandHint = find('.lv-hint').textContent;

function drawHow() {
  const lane = lanes.find(({ track }) => track.lane.role === 'lopa');
  const index = lane ? telling(lane.track, Math.max(0, shownOf(lane.track) - 1)) : -1;
  const state = index < 0 ? '' : [run, index, lane.track.rounds.length > index + 1].join();
  if (state === explained || (lane && index < 0)) return;
  explained = state;
  if (!lane) return fillByHand();
  const { track } = lane;
  const round = track.rounds[index];
  const shown = few(track, round);
  const start = excerpt(track, index, shown.map((branch) => branch.slot));
  const before = index ? index - 1 : -1;
  fillStep('fill', [words(track, index, start, { fresh: before })]);
  fillStep('look', shown.map((branch) => words(track, index, around(track, branch, start), { branch })));
  fillStep('keep', shown.map((branch) => weighed(track, round, index, branch, start)));
  const won = round.branches[round.winner].slot === null ? 'the anchor' : branchName(round, round.winner);
  put(find('.lv-hint'), `These are the words of pass ${index + 1} of ${track.lane.title} above, where ${won} won.`);
}

// The round nearest to `here` in which a lookahead won, else one with lookaheads, else -1.
function telling(track, here) {
  const distance = (index) => Math.abs(index - here);
  const nearest = (fits) => track.rounds.reduce((best, round, index) => (fits(round) && (best < 0 || distance(index) < distance(best)) ? index : best), -1);
  const won = nearest((round) => round.branches[round.winner].slot !== null);
  return won < 0 ? nearest((round) => round.branches.length > 1) : won;
}

// The winner and the lookaheads beside it in the text.
function few(track, round) {
  const ahead = round.branches.filter((branch) => branch.slot !== null);
  const best = round.branches[round.winner];
  const home = (best.slot === null ? ahead[0] : best).slot;
  const near = ahead.filter((branch) => branch !== best).sort((a, b) => Math.abs(a.slot - home) - Math.abs(b.slot - home));
  const chosen = [best, ...near].slice(0, FEW);
  return chosen.sort((a, b) => (a.slot ?? -1) - (b.slot ?? -1));
}

// The first slot of the excerpt: it holds the winner's place, as many of the other places as fit, and some text before.
function excerpt(track, index, slots) {
  const places = slots.filter((slot) => slot !== null);
  const home = track.winner(index).slot ?? places[0];
  const last = Math.max(0, track.lane.slots - NEAR);
  let best = { start: 0, worth: -1 };
  for (let start = Math.max(0, home - NEAR + 2); start <= home; start += 1) {
    const inside = (slot) => slot >= start && slot < start + NEAR;
    const rounds = track.round.subarray(start, start + NEAR);
    const text = rounds.filter((round) => round < index).length;
    const worth = places.filter(inside).length + Math.min(4, text) / 2 + (rounds.includes(index - 1) ? 1 : 0);
    if (worth > best.worth) best = { start, worth };
  }
  return Math.min(best.start, last);
}

// A branch that tries a place outside the excerpt shows its own surroundings.
function around(track, branch, start) {
  if (branch.slot === null || (branch.slot >= start && branch.slot < start + NEAR)) return start;
  return Math.max(0, Math.min(branch.slot - (NEAR >> 1), track.lane.slots - NEAR));
}

// A line of slots before round n: fresh marks what a round has filled, branch its tried token, filled what it goes on to fill.
function words(track, n, start, { fresh = -1, branch = null, filled = new Map() }) {
  const line = make('p');
  line.dir = 'auto';
  track.turn(n);
  if (start) line.append(make('i', '', '… '));
  for (let slot = start; slot < Math.min(start + NEAR, track.lane.slots); slot += 1) {
    const alone = (token) => track.words.alone(token);
    if (track.round[slot] < n) {
      const text = track.text(slot, n).replaceAll('\n', '');
      line.append(track.round[slot] === fresh ? make('b', 'fresh', text) : make('span', '', text));
    } else if (branch?.slot === slot) line.append(make('b', 'up', alone(branch.token)));
    else if (filled.has(slot)) line.append(make('b', 'fresh', alone(filled.get(slot))));
    else line.append(make('i', '', ' · '));
  }
  if (start + NEAR < track.lane.slots) line.append(make('i', '', ' …'));
  return line;
}

function weighed(track, round, index, branch, start) {
  const won = branch === round.branches[round.winner];
  const filled = new Map(won ? round.filled.map((i) => [branch.seen.slots[i], branch.seen.tokens[i]]) : []);
  const line = words(track, index, around(track, branch, start), { branch, filled });
  if (!won) line.className = 'off';
  line.prepend(make('small', '', scoreOf(branch, track.lane)));
  return line;
}

// Without a LoPA lane, also after a race that had one.
function fillByHand() {
  for (const [name, lines] of byHand) fillStep(name, lines);
  put(find('.lv-hint'), byHandHint);
}

function fillStep(name, lines) {
  find(`[data-step="${name}"]`).replaceChildren(...lines);
}
