"""The embedded forum: boards, posts, nested comments, votes and subscriptions."""
