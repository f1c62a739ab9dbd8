/* What the page shows is what its data is. */
({ study: Study, run: Run, live: Live, sweeping: Sweeping })[Data.kind].show(document.body);
