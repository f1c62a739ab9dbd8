/* What the page shows is what its data is. */
({ study: Study, run: Run, live: Live, debugging: Live, sweeping: Sweeping })[Data.kind].show(document.body);
