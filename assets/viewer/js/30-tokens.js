// A canvas of tokens, one chip per slot. Painting compares with what each chip shows and touches only those that
// differ. The canvas is one tab stop; its arrow keys go from token to token.

const LOOKS = { done: 1, ghost: 2, mask: 4, brought: 8, special: 16, after: 32, now: 64, tried: 128, block: 256, back: 512 };
const LONG = 200; // slots from which on the letters are smaller, so that more of them fit on a screen
const classes = new Map();

function classOf(flags) {
  let text = classes.get(flags);
  if (!text) {
    text = 'lv-t' + Object.keys(LOOKS).filter((name) => flags & LOOKS[name]).map((name) => ' ' + name).join('');
    classes.set(flags, text);
  }
  return text;
}

class Tokens {
  constructor(track, label) {
    const { slots, block_size: size } = track.lane;
    this.track = track;
    this.node = make('div', slots > LONG ? 'lv-canvas long' : 'lv-canvas');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', label);
    this.flags = new Int32Array(slots).fill(LOOKS.mask);
    this.passes = new Int32Array(slots).fill(-1);
    this.texts = Array(slots).fill('·');
    this.guesses = new Int32Array(slots);
    this.view = { n: 0, seen: null };
    this.inner = make('div');
    this.chips = this.texts.map((text, slot) => {
      const chip = make('span', 'lv-t mask', text);
      chip.dataset.slot = slot;
      return chip;
    });
    this.letters = this.chips.map((chip) => chip.firstChild);
    // a token's leading blank stands before its chip: inside, it would hang at a line's end as a sliver of colour
    this.blanks = this.texts.map(() => document.createTextNode(''));
    this.blocks = Uint8Array.from(this.texts, (_, slot) => (slot && slot % size === 0 ? 1 : 0));
    this.inner.append(...this.chips.flatMap((chip, slot) => [this.blanks[slot], chip]));
    this.node.append(this.inner);
    this.steady();
    this.rove(0);
    this.node.addEventListener('keydown', (event) => this.walk(event));
    this.node.addEventListener('click', (event) => this.focus(event.target.dataset.slot));
    this.node.addEventListener('focusin', (event) => showTip(this, Number(event.target.dataset.slot), true));
    this.node.addEventListener('focusout', () => hideTip(true));
    this.node.addEventListener('pointerover', (event) => {
      if (event.target.dataset.slot && event.pointerType !== 'touch') showTip(this, Number(event.target.dataset.slot));
    });
    this.node.addEventListener('pointerleave', () => hideTip());
  }

  // The canvas never shrinks while its width stays: scrubbing must not move what lies below.
  steady() {
    let width = 0;
    let height = 0;
    new ResizeObserver(() => {
      if (this.node.clientWidth !== width) height = 0;
      width = this.node.clientWidth;
      if (this.inner.offsetHeight <= height) return;
      height = this.inner.offsetHeight;
      this.node.style.setProperty('--tall', height + 'px');
    }).observe(this.inner);
  }

  // view: n, rounds whose commits are shown; seen, the predictions for the masks; tried, a branch's own token;
  // filled, indices into seen that the branch goes on to fill; fresh, the round whose changes are marked as new.
  paint(view) {
    this.view = view;
    const { track, guesses } = this;
    const { n, seen, tried = -1, more = [], filled = [], fresh = -1 } = view;
    track.turn(n);
    const end = track.ends[n];
    guesses.fill(-1);
    if (seen) for (let i = 0; i < seen.slots.length; i += 1) guesses[seen.slots[i]] = seen.tokens[i];
    const filling = new Set(filled.map((i) => seen.slots[i]));
    const draft = new Map(more.map(([slot, token]) => [slot, token]));
    const back = new Set(track.rounds[fresh]?.taken);
    for (let slot = 0; slot < guesses.length; slot += 1) {
      const base = (this.blocks[slot] && LOOKS.block) | (slot > end && LOOKS.after) | (back.has(slot) && LOOKS.back);
      const guess = guesses[slot];
      if (track.round[slot] < n) {
        const special = track.words.special(track.token[slot]) && LOOKS.special;
        const now = track.round[slot] === fresh && LOOKS.now;
        this.write(slot, base | LOOKS.done | special | now | (track.brought[slot] && LOOKS.brought), track.text(slot, n), track.round[slot]);
      } else if (slot === tried || draft.has(slot) || filling.has(slot)) {
        const token = slot === tried ? view.token : draft.get(slot) ?? guess;
        const special = track.words.special(token) && LOOKS.special;
        this.write(slot, base | LOOKS.done | special | (filling.has(slot) ? LOOKS.now : LOOKS.tried), track.words.alone(token), n);
      } else if (guess >= 0) {
        this.write(slot, base | LOOKS.ghost | (track.words.special(guess) && LOOKS.special), track.words.alone(guess), -1);
      } else this.write(slot, base | LOOKS.mask, '·', -1);
    }
  }

  write(slot, flags, text, pass) {
    if (this.flags[slot] !== flags) this.chips[slot].className = classOf((this.flags[slot] = flags));
    if (this.texts[slot] !== text) {
      this.texts[slot] = text;
      const word = flags & LOOKS.special ? text : text.replace(/^ +(?=[^ ])/, '');
      this.letters[slot].data = word;
      this.blanks[slot].data = slot ? text.slice(0, text.length - word.length) : '';
    }
    if (pass >= 0 && this.passes[slot] !== pass) this.chips[slot].style.setProperty('--r', (this.passes[slot] = pass));
  }

  rove(slot) {
    this.chips[this.current ?? 0].removeAttribute('tabindex');
    this.current = slot;
    this.chips[slot].tabIndex = 0;
  }

  focus(slot) {
    if (slot === undefined) return;
    this.rove(Number(slot));
    this.chips[slot].focus();
  }

  walk(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: 1, End: -1 };
    const move = moves[event.key];
    if (event.key === 'Escape') hideTip(true);
    if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const from = move > 0 ? -1 : this.chips.length; // of Home and End
    const ways = { ArrowLeft: 'beside', ArrowRight: 'beside', ArrowUp: 'otherLine', ArrowDown: 'otherLine' };
    const way = ways[event.key];
    const to = way ? this[way](move) : this.next(from, move);
    if (to !== null) this.focus(to);
  }

  // The next slot that shows something: all but the last of a character's tokens are empty.
  next(slot, move) {
    for (let to = slot + move; to >= 0 && to < this.chips.length; to += move) if (this.texts[to]) return to;
    return null;
  }

  // The one to the left or right as the eye sees it; beyond a line's edge, that of the line that is read next or before.
  beside(move) {
    const line = this.line();
    const to = line[line.indexOf(this.current) + move];
    if (to !== undefined) return to;
    const on = fromTheRight(this.paragraph()) ? -move : move;
    return this.next(on > 0 ? Math.max(...line) : Math.min(...line), on);
  }

  // The slots on the line of the current one, from left to right.
  line() {
    const boxes = this.chips.map((chip, slot) => (this.texts[slot] ? chip.getClientRects()[0] : undefined));
    const here = boxes[this.current];
    const on = (box) => box && Math.abs(box.top + box.bottom - here.top - here.bottom) < here.height;
    const centre = (slot) => boxes[slot].left + boxes[slot].right;
    return [...boxes.keys()].filter((slot) => on(boxes[slot])).sort((a, b) => centre(a) - centre(b));
  }

  // The words in the paragraph of the current slot.
  paragraph() {
    const words = this.texts.map((text, slot) => (this.flags[slot] & LOOKS.special ? '' : text));
    const before = words.slice(0, this.current).join('');
    return before.slice(before.lastIndexOf('\n') + 1) + words.slice(this.current).join('').split('\n', 1)[0];
  }

  otherLine(move) {
    const here = this.chips[this.current].getBoundingClientRect();
    let best = null;
    let line = null;
    for (let to = this.next(this.current, move); to !== null; to = this.next(to, move)) {
      const rect = this.chips[to].getClientRects()[0];
      if (Math.abs(rect.top - here.top) < here.height / 2) continue;
      if (line !== null && Math.abs(rect.top - line) > here.height / 2) break;
      line = rect.top;
      const apart = Math.abs(rect.left + rect.width / 2 - here.left - here.width / 2);
      if (best === null || apart < best.apart) best = { to, apart };
    }
    return best && best.to;
  }

  // What is told about a slot: what stands there, and facts by name.
  tell(slot) {
    const { track } = this;
    const { n, seen, tried, more = [] } = this.view;
    track.turn(n);
    const place = ['slot', String(slot + 1)];
    const chance = (value) => ['probability', value.toFixed(3)];
    if (track.round[slot] < n) {
      const index = track.round[slot];
      const round = track.rounds[index];
      const branch = branchName(round, round.winner) + (track.brought[slot] ? ', its tried token' : '');
      return ['committed', track.words.quoted(track.token[slot]), [chance(track.chance[slot]), ['pass', String(index + 1)], ['branch', branch], place]];
    }
    const draft = slot === tried ? [slot, this.view.token, this.view.chance] : more.find(([each]) => each === slot);
    if (draft) return ['tried', track.words.quoted(draft[1]), [chance(draft[2]), ['branch', this.view.name], place]];
    const taken = track.takenBack(slot, n);
    const back = taken < 0 ? [] : [['taken back', `pass ${taken + 1}`]];
    const i = seen ? seen.slots.indexOf(slot) : -1;
    if (i < 0) return ['not predicted yet', 'mask', [...back, place]];
    const index = this.view.round ?? n - 1;
    return ['guess', track.words.quoted(seen.tokens[i]), [chance(seen.probabilities[i]), ['pass', String(index + 1)], ['branch', this.view.name ?? branchName(track.rounds[index], track.rounds[index].winner)], ...back, place]];
  }
}
