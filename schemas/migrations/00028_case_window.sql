-- +goose Up
-- A hard case of live memory lives as long as it goes on failing: what has not
-- failed for a while expires, as in the buffer of a training.

-- Of the last failure. Cases that are there count from now on: nobody can tell
-- what their last change was.
alter table cases add column failed_at timestamptz not null default now();
alter table cases drop constraint cases_state_check;
alter table cases add constraint cases_state_check check (state in ('open', 'resolved', 'expired'));
grant update (failed_at) on cases to cairn_app;
