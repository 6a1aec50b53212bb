// Plotly: loaded when the first figure comes near, and told the page's colours.

let plotly = null;

function loadPlotly() {
  plotly ??= window.Plotly ? Promise.resolve(window.Plotly) : fetchPlotly().catch((error) => {
    plotly = null; // the next figure tries again
    throw error;
  });
  return plotly;
}

// A replay brings the script along and unpacks it by itself.
function fetchPlotly() {
  if (props.plotly_ready) return props.plotly_ready.then(() => window.Plotly);
  return new Promise((resolve, reject) => {
    // another viewer of this page may have begun already
    const begun = [...document.scripts].find((each) => each.getAttribute('src') === props.plotly_url);
    const script = begun ?? make('script');
    script.addEventListener('load', () => resolve(window.Plotly));
    script.addEventListener('error', () => {
      script.remove();
      reject(new Error('The chart library could not be loaded; reload the page to try once more.'));
    });
    if (begun) return;
    script.src = props.plotly_url;
    document.head.append(script);
  });
}

const NARROW = 560; // px of a figure under which a plot gets more height for a legend of several lines

function themed(layout, width) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(name).trim();
  const line = colour('--lv-line');
  const grid = { gridcolor: line, linecolor: line, zerolinecolor: line, fixedrange: touch.matches };
  const axes = Object.entries(layout).filter(([key]) => /^[xy]axis/.test(key)).map(([key, axis]) => [key, { ...axis, ...grid }]);
  const ink = { color: colour('--lv-ink') };
  return {
    ...layout,
    ...Object.fromEntries(axes),
    annotations: layout.annotations?.map((note) => ({ ...note, font: { ...ink, size: 13, ...note.font } })),
    autosize: true,
    height: layout.height + (width < NARROW ? 40 : 0),
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    font: { family: style.fontFamily, size: 12.5, color: colour('--lv-muted') },
    hoverlabel: { bgcolor: colour('--lv-card'), bordercolor: line, font: { ...ink, family: style.fontFamily, size: 13 } },
  };
}

// A lane that has not begun has no points. One that is null keeps its panel, on which the others' axis may stand.
const kept = (trace) => (trace.x?.length === 0 ? { ...trace, x: [null], y: [null] } : trace);

// A figure as a picture to keep: with its title, on the page's own ground.
async function saveImage(name, figure, format) {
  const library = await loadPlotly();
  const { data, layout } = figure.plots[player.clock] ?? figure.plots.pass;
  const style = getComputedStyle(root);
  const width = Math.max(1000, layout.meta?.width ?? 0);
  const look = themed(layout, width);
  const picture = {
    ...look,
    width,
    height: look.height + 56,
    margin: { ...look.margin, t: look.margin.t + 44, b: look.margin.b + 12 },
    paper_bgcolor: style.getPropertyValue('--lv-card').trim(),
    title: {
      text: figure.title.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), // Plotly reads a little HTML
      x: 0, xref: 'paper', xanchor: 'left', y: 1, yref: 'container', yanchor: 'top', pad: { t: 16 },
      font: { size: 19, color: style.getPropertyValue('--lv-ink').trim() },
    },
  };
  const scale = format === 'png' ? 2 : 1;
  saveUrl(`lopa-${name}.${format}`, await library.toImage({ data: data.map(kept), layout: picture }, { format, width, height: picture.height, scale }));
}
