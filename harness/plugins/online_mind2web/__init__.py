"""Online-Mind2Web: tasks on live web sites, judged by WebJudge (arXiv 2504.01382)."""
