/* What the page shows is what its data is. */
({ study: Study, run: Run, live: Live })[Data.kind].show(document.body);
