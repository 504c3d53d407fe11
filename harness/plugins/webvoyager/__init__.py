"""WebVoyager: tasks on live web sites, judged by their last screenshots (arXiv 2401.13919)."""
