-- +goose Up
-- Gates of learning, and votes that a gateway sends for its users.

-- An update that changes too much ends as a shadow.
drop index policy_updates_open;
create unique index policy_updates_open on policy_updates (workspace_id, bank_id) where ended_at is null;

alter table evolution_rounds drop constraint evolution_rounds_outcome_check;
alter table evolution_rounds add constraint evolution_rounds_outcome_check
  check (outcome in ('', 'promoted', 'rejected', 'no_change', 'no_cases', 'no_traces', 'not_enough_evidence', 'waiting', 'superseded', 'failed'));

-- Who sent a vote, like voter: the gateway of several persons sends the votes of all of them with one
-- key, whose bursts are counted. Empty, for a vote before this migration, means the voter.
alter table votes add column sender text not null default '';
drop index votes_lately;
create index votes_lately on votes (workspace_id, sender, voted_at);
grant update (sender) on votes to cairn_app;
