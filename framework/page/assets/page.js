// Draws the charts of the page from the data within it. Everything a chart shows stands in a table beside it, too.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const partColours = { "data wait": "data", "forward": "forward", "backward": "backward",
    "communication, exposed": "exposed", "optimizer": "optimizer", "other": "other" };
  const seriesColours = ["backward", "exposed", "optimizer", "busy", "data", "forward"];
  const seriesColour = (i) => colour(seriesColours[i % seriesColours.length]);

  const bytesText = (bytes) => {
    if (bytes >= 1e9) return (bytes / 1e9).toPrecision(3) + " GB";
    if (bytes >= 1e6) return (bytes / 1e6).toPrecision(3) + " MB";
    if (bytes >= 1e3) return (bytes / 1e3).toPrecision(3) + " kB";
    return bytes + " B";
  };
  const axis = (title, more = {}) => ({ title: { display: true, text: title, color: colour("soft") },
    ticks: { color: colour("soft") }, grid: { color: colour("line") }, ...more });

  // The range of the repeats, as a line with ends through each bar.
  const ranges = { id: "ranges", afterDatasetsDraw(chart) {
    const list = chart.config.options.ranges;
    if (!list) return;
    const { ctx, scales } = chart;
    ctx.save();
    ctx.strokeStyle = colour("ink");
    ctx.lineWidth = 2;
    chart.getDatasetMeta(0).data.forEach((bar, i) => {
      const [low, high] = list[i].map((value) => scales.x.getPixelForValue(value));
      ctx.beginPath();
      ctx.moveTo(low, bar.y); ctx.lineTo(high, bar.y);
      for (const x of [low, high]) { ctx.moveTo(x, bar.y - 6); ctx.lineTo(x, bar.y + 6); }
      ctx.stroke();
    });
    ctx.restore();
  } };

  // The same upright through each point of a line.
  const whiskers = { id: "whiskers", afterDatasetsDraw(chart) {
    const { ctx, scales } = chart;
    ctx.save();
    ctx.lineWidth = 2;
    (chart.config.options.whiskers || []).forEach((list, i) => {
      if (!chart.isDatasetVisible(i)) return;
      ctx.strokeStyle = chart.data.datasets[i].borderColor;
      chart.getDatasetMeta(i).data.forEach((place, j) => {
        if (!list[j]) return;
        const [low, high] = list[j].map((value) => scales.y.getPixelForValue(value));
        ctx.beginPath();
        ctx.moveTo(place.x, low); ctx.lineTo(place.x, high);
        for (const y of [low, high]) { ctx.moveTo(place.x - 6, y); ctx.lineTo(place.x + 6, y); }
        ctx.stroke();
      });
    });
    ctx.restore();
  } };
  // The highest point or end of a range.
  const top = (list) => Math.max(...list.flatMap((series) => [...series.points.map((p) => p.y), ...series.ranges.flat()])
    .filter(Number.isFinite));

  const charts = {
    parts: (d) => ({ type: "bar",
      data: { labels: d.rows, datasets: d.parts.map((part) => ({ label: part.name, data: part.ms,
        backgroundColor: colour(partColours[part.name] || "other") })) },
      options: { indexAxis: "y", scales: { x: axis("ms per step", { stacked: true }), y: axis("", { stacked: true }) } } }),
    speedup: (d) => ({ type: "bar",
      data: { labels: d.rows, datasets: [{ label: d.label, data: d.median, backgroundColor: colour("backward") }] },
      options: { indexAxis: "y", ranges: d.ranges, plugins: { legend: { display: false } },
        scales: { x: axis(d.label, { beginAtZero: true, suggestedMax: Math.max(...d.ranges.flat()) * 1.03 }), y: axis("") } } }),
    buckets: (d) => ({ type: "bar",
      data: { labels: d.labels, datasets: [
        { label: "wire", data: d.wire, backgroundColor: colour("busy") },
        { label: "beyond wire, slowest rank", data: d.beyond, backgroundColor: colour("exposed") }] },
      options: { scales: { x: axis("bucket, in the order of sending", { stacked: true }), y: axis("ms", { stacked: true }) } } }),
    bandwidth: (d) => {
      const datasets = [];
      d.series.forEach((series, i) => {
        const name = d.series.length > 1 ? series.name : "buckets in training";
        datasets.push({ label: name, data: series.points, showLine: false, pointRadius: 5,
          backgroundColor: seriesColour(i), borderColor: seriesColour(i) });
        if (series.fit.length) datasets.push({ label: name + ", fit", data: series.fit, showLine: true, pointRadius: 0,
          borderColor: seriesColour(i), borderWidth: 2 });
        if (series.alone.length) datasets.push({ label: name + ", link alone", data: series.alone, showLine: true,
          pointRadius: 0, borderColor: seriesColour(i), borderWidth: 2, borderDash: [6, 5] });
      });
      return { type: "scatter", data: { datasets }, options: {
        scales: { x: axis("bytes of the bucket", { type: "logarithmic",
            ticks: { color: colour("soft"), maxRotation: 0, autoSkip: true, maxTicksLimit: 7, callback: (value) => bytesText(value) } }),
          y: axis("bus bandwidth, GB/s", { beginAtZero: true }) },
        plugins: { tooltip: { callbacks: { label: (item) => item.dataset.label + ": " + bytesText(item.parsed.x) + ", " +
          item.parsed.y.toPrecision(3) + " GB/s" } } } } };
    },
    loss: (d) => {
      const datasets = [{ label: "training loss", data: d.training, showLine: true, pointRadius: 0, borderWidth: 2,
        borderColor: colour("backward"), backgroundColor: colour("backward"), yAxisID: "y" }];
      const scales = { x: axis("step"), y: axis("loss") };
      if (d.evaluation.length) datasets.push({ label: "evaluation loss", data: d.evaluation, showLine: true, pointRadius: 4,
        borderColor: colour("exposed"), backgroundColor: colour("exposed"), yAxisID: "y" });
      if (d.accuracy.length) {
        datasets.push({ label: "accuracy %", data: d.accuracy, showLine: true, pointRadius: 4, borderColor: colour("optimizer"),
          backgroundColor: colour("optimizer"), yAxisID: "accuracy" });
        scales.accuracy = axis("accuracy %", { position: "right", grid: { drawOnChartArea: false } });
      }
      return { type: "scatter", data: { datasets }, options: { scales } };
    },
    // Curves that lie on each other would hide all but the last: each is dashed differently.
    losses: (d) => {
      const datasets = [], scales = { x: axis("step"), y: axis("training loss") };
      const dashes = [[], [8, 5], [2, 4], [12, 4, 2, 4]];
      d.series.forEach((series, i) => {
        const look = { showLine: true, borderColor: seriesColour(i), backgroundColor: seriesColour(i) };
        datasets.push({ ...look, label: series.name, data: series.training, pointRadius: 0, borderWidth: 2,
          borderDash: dashes[i % dashes.length] });
        if (!series.accuracy.length) return;
        scales.accuracy = axis("accuracy %", { position: "right", grid: { drawOnChartArea: false } });
        datasets.push({ ...look, label: series.name + ", accuracy %", data: series.accuracy, pointRadius: 4, borderWidth: 1,
          yAxisID: "accuracy" });
      });
      return { type: "scatter", data: { datasets }, options: { scales } };
    },
    sweep: (d) => ({ type: "line",
      data: { labels: d.labels, datasets: d.series.map((series, i) => ({ label: series.name || d.label, data: series.points,
        borderColor: seriesColour(i), backgroundColor: seriesColour(i), borderWidth: 2, spanGaps: true,
        pointRadius: series.best.map((best) => best ? 10 : 4), pointStyle: series.best.map((best) => best ? "rectRot" : "circle") })) },
      options: { whiskers: d.series.map((series) => series.ranges), plugins: { legend: { display: d.series.length > 1 } },
        scales: { x: axis(d.key, { offset: true }), y: axis(d.label, { beginAtZero: true, suggestedMax: top(d.series) * 1.05 }) } } }),
    scaling: (d) => ({ type: "scatter",
      data: { datasets: [...d.series.map((series, i) => ({ label: series.name, data: series.points, showLine: true, pointRadius: 5,
        borderWidth: 2, borderColor: seriesColour(i), backgroundColor: seriesColour(i) })),
        { label: "ideal", data: d.ideal, showLine: true, pointRadius: 0, borderWidth: 2, borderDash: [6, 5], borderColor: colour("soft"),
          backgroundColor: colour("soft") }] },
      options: { whiskers: d.series.map((series) => series.ranges),
        scales: { x: axis("ranks", { ticks: { color: colour("soft"), precision: 0 } }),
          y: axis(d.label, { beginAtZero: true, suggestedMax: top(d.series) * 1.05 }) } } }),
  };

  let drawn = [];
  const draw = () => {
    drawn.forEach((chart) => chart.destroy());
    drawn = [];
    Chart.defaults.animation = false;
    Chart.defaults.color = colour("ink");
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    for (const canvas of document.querySelectorAll("canvas[data-chart]")) {
      const kind = canvas.dataset.chart;
      const holder = canvas.parentElement;
      if (!data[kind]) { holder.hidden = true; continue; }
      if (holder.dataset.rows) holder.style.height = (6.5 + 2.6 * Number(holder.dataset.rows)) + "rem";
      const config = charts[kind](data[kind]);
      config.plugins = [ranges, whiskers];
      config.options = { responsive: true, maintainAspectRatio: false, ...config.options };
      drawn.push(new Chart(canvas, config));
    }
    document.documentElement.dataset.charts = String(drawn.length);  // for tests: all are there
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
