/* What the page shows is what its data is. */
({ study: Study, run: Run })[Data.kind].show(document.body);
