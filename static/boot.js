// Starts the page, and speaks when the program cannot: it knows nothing of wasm or Yew, so it
// still works when they do not.
(function () {
  "use strict";
  var zh = function () { return document.documentElement.lang === "zh-CN"; };
  var say = {
    en: {
      unsupported: ["This browser cannot run Terrarium", "It lacks WebAssembly, or WebAssembly is switched off (some hardened browser modes do that). Any Firefox, Chrome, Edge or Safari since 2022 will do."],
      fetch: ["Terrarium did not load", "The program could not be fetched or started. Check the connection and reload. If you opened the file straight from a disk, serve the folder over HTTP instead: browsers do not load WebAssembly from file://."],
      panic: ["Terrarium has stopped: this is a bug in Terrarium", "Your run is saved. Reloading brings it back up to the step before. The recording file reproduces the fault exactly; please attach it when you report it."],
      reload: "Reload", step: "Reload to the step before", download: "Download the recording"
    },
    zh: {
      unsupported: ["此浏览器无法运行 Terrarium", "它不支持 WebAssembly，或 WebAssembly 已被关闭（某些安全加固模式会这样）。2022 年以后的 Firefox、Chrome、Edge 或 Safari 均可。"],
      fetch: ["Terrarium 未能加载", "程序无法获取或启动。请检查网络后重新加载。如果您是直接从磁盘打开文件，请改用 HTTP 提供该目录：浏览器不会从 file:// 加载 WebAssembly。"],
      panic: ["Terrarium 已停止：这是 Terrarium 的缺陷", "您的运行已保存。重新加载会恢复到上一步。录制文件可以精确重现该故障，报告问题时请附上它。"],
      reload: "重新加载", step: "重新加载到上一步", download: "下载录制文件"
    }
  };
  function show(kind, detail, recording) {
    var words = zh() ? say.zh : say.en;
    var box = document.getElementById("trouble");
    if (!box.hidden) { return; }
    document.getElementById("trouble-title").textContent = words[kind][0];
    document.getElementById("trouble-text").textContent = words[kind][1];
    var pre = document.getElementById("trouble-detail");
    pre.hidden = !detail;
    pre.textContent = detail || "";
    var reload = document.getElementById("trouble-reload");
    reload.textContent = kind === "panic" ? words.step : words.reload;
    reload.onclick = function () { location.reload(); };
    var download = document.getElementById("trouble-download");
    download.hidden = !recording;
    download.textContent = words.download;
    download.onclick = function () {
      var link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([recording], { type: "text/plain" }));
      link.download = "terrarium-recording.txt";
      link.click();
    };
    var app = document.getElementById("app");
    app.inert = true;
    app.setAttribute("aria-hidden", "true");
    box.hidden = false;
    document.documentElement.dataset.trouble = kind;
    reload.focus();
  }
  window.terrariumBoot = {
    supported: function () {
      var ok = typeof WebAssembly === "object" && typeof WebAssembly.instantiateStreaming === "function";
      if (!ok) { show("unsupported", "", ""); }
      return ok;
    },
    failed: function (error) { show("fetch", String((error && error.message) || error), ""); },
    // Called from the panic hook with the message and the recording, if there is one.
    panicked: function (message, recording) { show("panic", message, recording); }
  };
  // Calls a function once the first picture stands.
  window.terrariumBoot.whenReady = function (next) {
    var root = document.documentElement;
    var stands = function () { performance.mark("picture"); next(); };
    if (root.dataset.ready) { stands(); return; }
    var watch = new MutationObserver(function () {
      if (root.dataset.ready) { watch.disconnect(); stands(); }
    });
    watch.observe(root, { attributes: true, attributeFilter: ["data-ready"] });
  };
  // Offline after the first visit. A build without a stamp comes from `cargo xtask serve`, where
  // a cache would only show yesterday's page.
  var build = "__BUILD__";
  if ("serviceWorker" in navigator && build.indexOf("__") !== 0) {
    window.addEventListener("load", function () {
      navigator.serviceWorker.register("./sw.js").catch(function () {});
    });
  }
})();
