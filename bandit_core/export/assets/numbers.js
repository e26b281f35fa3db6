// Numbers of many runs in a few, and as text, as the lab writes them (bandit_core/spec/number_text.py).
function half_even(value) {
  const low = Math.floor(value), rest = value - low;
  return rest < .5 || (rest === .5 && low % 2 === 0) ? low : low + 1;
}

const ten = power => Number(`1e${power}`); // exactly
const grouped = (value, decimals) => value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

function plain(value) {
  const rounded = Number(value.toPrecision(3)), size = Math.abs(rounded);
  if (size >= 1e6) return `${(rounded / 1e6).toLocaleString("en", { maximumSignificantDigits: 6 })} million`;
  return size >= 100 ? grouped(half_even(rounded), 0) : String(rounded);
}

function with_error(value, error) {
  if (!(error > Math.max(1e-300, 1e-9 * Math.abs(value)))) return plain(value);
  if (Math.max(Math.abs(value), error) >= 1e6) return `(${with_error(value / 1e6, error / 1e6)}) million`;
  let place = Math.floor(Math.log10(error));
  if (error / ten(place) < 3) place -= 1;
  const keep = ten(place), written = each => grouped(half_even(each / keep) * keep, Math.max(0, -place));
  return `${written(value)} ± ${written(error)}`;
}

function quantile(sorted, share) {
  const place = (sorted.length - 1) * share, low = Math.floor(place), high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

function summed_up(runs, times) {
  const mean = [], low = [], high = [], last = times - 1;
  for (let time = 0; time < times; time++) {
    const column = runs.map(run => run[time]);
    mean.push(column.reduce((one, other) => one + other, 0) / runs.length);
    column.sort((one, other) => one - other);
    low.push(quantile(column, .05));
    high.push(quantile(column, .95));
  }
  const squares = runs.reduce((sum, run) => sum + (run[last] - mean[last]) ** 2, 0);
  const error = runs.length > 1 ? Math.sqrt(squares / (runs.length - 1)) / Math.sqrt(runs.length) : NaN;
  return { mean, low, high, ending: with_error(mean[last], error) };
}
