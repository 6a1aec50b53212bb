// One lane's recording, made ready for jumping about: every round is parsed once, and for every slot it is known in
// which round it was committed. `n` always means "the first n rounds are shown".

const NEVER = 1e9;

class Track {
  constructor(lane) {
    this.words = new Words();
    this.rounds = [];
    this.seconds = [];
    this.filled = [0]; // slots committed after n rounds
    this.ends = [NEVER]; // the first end-of-text after n rounds
    this.round = new Int32Array(lane.slots).fill(NEVER);
    this.token = new Int32Array(lane.slots).fill(-1);
    this.chance = new Float64Array(lane.slots);
    this.brought = new Uint8Array(lane.slots);
    this.lives = new Map(); // slot: what stood there and when, of slots that became masks again
    this.read(lane);
  }

  // Takes in what `lane` has beyond what is known already.
  read(lane) {
    this.lane = lane;
    this.words.read(lane);
    for (let i = this.rounds.length; i < lane.rounds.length; i += 1) this.add(JSON.parse(lane.rounds[i]));
    this.group();
  }

  add(round) {
    const index = this.rounds.push(round) - 1;
    const best = round.branches[round.winner];
    let end = this.ends[index];
    const commit = (slot, token, chance) => {
      this.round[slot] = index;
      this.token[slot] = token;
      this.chance[slot] = chance;
      if (this.lane.end_ids.includes(token)) end = Math.min(end, slot);
    };
    this.turn(NEVER - 1); // what is added follows what stood last
    const brought = best.slot === null ? [] : [[best.slot, best.token, best.probability], ...best.more];
    for (const each of brought) commit(...each);
    for (const i of round.filled) commit(best.seen.slots[i], best.seen.tokens[i], best.seen.probabilities[i]);
    for (const slot of this.lives.keys()) this.brought[slot] &= this.round[slot] !== index;
    for (const [slot] of brought) this.brought[slot] = 1;
    for (const slot of this.lives.keys()) if (this.round[slot] === index) this.live(slot, index);
    for (const slot of round.taken) this.take(slot, index);
    if (round.taken.includes(end)) end = Math.min(NEVER, ...this.standing());
    this.seconds.push(round.seconds);
    this.filled.push(this.filled[index] + round.filled.length + brought.length - round.taken.length);
    this.ends.push(end);
  }

  // Slots where the text ends after all rounds.
  standing() {
    return [...this.round.keys()].filter((slot) => this.round[slot] < NEVER && this.lane.end_ids.includes(this.token[slot]));
  }

  live(slot, from) {
    const life = { from, until: NEVER, token: this.token[slot], chance: this.chance[slot], brought: this.brought[slot] };
    this.lives.set(slot, [...(this.lives.get(slot) ?? []), life]);
  }

  // A slot becomes a mask again with round `index`.
  take(slot, index) {
    if (!this.lives.has(slot)) this.live(slot, this.round[slot]);
    this.lives.get(slot).at(-1).until = index;
    this.round[slot] = NEVER;
  }

  // The round, of the first n, in which a slot last became a mask again; -1 if it never has.
  takenBack(slot, n) {
    return this.lives.get(slot)?.findLast(({ until }) => until < n)?.until ?? -1;
  }

  // Makes round, token, chance and brought those of the first n rounds, for slots that became masks again.
  turn(n) {
    for (const [slot, lives] of this.lives) {
      const life = lives.find(({ from, until }) => from < n && n <= until);
      this.round[slot] = life ? life.from : NEVER;
      if (life) [this.token[slot], this.chance[slot], this.brought[slot]] = [life.token, life.chance, life.brought];
    }
  }

  // Several tokens may be one character: its text stands at the last of them, once all are committed (`whole`).
  group() {
    const { texts, slots } = this.lane;
    this.last = Int32Array.from({ length: slots }, (_, slot) => slot);
    this.whole = new Int32Array(slots);
    this.readAs = Array.from({ length: slots }, (_, slot) => this.display(slot, texts[slot]));
    let first = -1;
    for (let slot = 0; slot < texts.length; slot += 1) {
      if (texts[slot] === null) {
        if (first < 0) first = slot;
        continue;
      }
      if (first >= 0 && texts[slot]) {
        const until = Math.max(...this.round.subarray(first, slot + 1));
        this.last.fill(slot, first, slot + 1);
        this.whole.fill(until, first, slot + 1);
      }
      first = -1;
    }
  }

  display(slot, text) {
    const token = this.token[slot];
    if (token < 0 || this.words.special(token) || !text) return this.words.alone(token);
    return visible(text).replaceAll('\n', '↵\n');
  }

  // The text of a committed slot.
  text(slot, n) {
    if (this.whole[slot] >= n || (this.lives.has(slot) && this.token[slot] !== this.lane.tokens[slot])) return this.words.alone(this.token[slot]);
    return this.last[slot] === slot ? this.readAs[slot] : '';
  }

  // What the last of n rounds predicted for the masks it left.
  seen(n) {
    return n ? this.winner(n - 1).seen : null;
  }

  winner(index) {
    const round = this.rounds[index];
    return round.branches[round.winner];
  }

  // How many rounds had ended by then.
  before(seconds) {
    let low = 0;
    let high = this.seconds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.seconds[middle] <= seconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // [tokens, seconds] after n rounds, as Python counts them.
  countsAt(n) {
    return n ? this.lane.counts[n - 1] : [0, 0];
  }

  secondsAt(n) {
    return n ? this.seconds[n - 1] : 0;
  }

  get total() {
    return this.secondsAt(this.rounds.length);
  }

  get over() {
    return this.lane.status !== 'running';
  }
}

const branchName = (round, index) => (round.branches[index].slot === null ? 'anchor' : `lookahead ${index + 1}`);
