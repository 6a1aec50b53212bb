// The scrubber's track: a row of bars per lane, tokens committed in each round, on the scrubber's own scale.

const wave = find('.lv-wave');
let drawnWave = '';
let room = [0, 0]; // asking for it in every frame would lay out the page once more
new ResizeObserver(() => {
  room = [wave.clientWidth, wave.clientHeight];
  drawWave();
}).observe(wave);

function drawWave() {
  const [width, height] = room;
  const state = [width, height, player.clock, longest(), document.body.className, ...lanes.map(({ track }) => track.rounds.length)].join();
  if (state === drawnWave || !width) return;
  drawnWave = state;
  const scale = devicePixelRatio;
  wave.width = width * scale;
  wave.height = height * scale;
  const pen = wave.getContext('2d');
  pen.scale(scale, scale);
  const most = Math.max(1, ...lanes.flatMap(({ track }) => track.rounds.map((_, index) => track.filled[index + 1] - track.filled[index])));
  const row = height / Math.max(1, lanes.length);
  lanes.forEach(({ track, node }, lane) => {
    pen.fillStyle = getComputedStyle(node).getPropertyValue('--tint').trim();
    const low = (lane + 1) * row - 1;
    track.rounds.forEach((_, index) => {
      const [from, to] = player.clock === 'pass' ? [index, index + 1] : [track.secondsAt(index), track.secondsAt(index + 1)];
      const left = (from / longest()) * width;
      const right = (to / longest()) * width;
      const tall = Math.max(1.5, ((track.filled[index + 1] - track.filled[index]) / most) * (row - 3));
      pen.fillRect(left, low - tall, Math.max(0.75, right - left - Math.min(1, (right - left) / 4)), tall);
    });
  });
}
