/* What the page shows is what its data is. */
({ study: Study })[Data.kind].show(document.body);
