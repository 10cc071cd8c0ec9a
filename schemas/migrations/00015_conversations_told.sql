-- +goose Up
-- What a person takes away is gone from prompts at once: a prompt that is being
-- frozen meanwhile notices by this number and reads again.
alter table workspaces add column sessions_epoch bigint not null default 0;
grant update (sessions_epoch) on workspaces to cairn_app;

-- Nobody decided in time: told apart from what was dropped.
alter table pending_writes drop constraint pending_writes_state_check;
alter table pending_writes add constraint pending_writes_state_check check (state in ('pending', 'approved', 'rejected', 'failed', 'expired'));
alter table pending_memories drop constraint pending_memories_state_check;
alter table pending_memories add constraint pending_memories_state_check check (state in ('pending', 'approved', 'rejected', 'conflict', 'expired'));

-- Running conversations are told of what the workspace chose.
alter table outbox drop constraint outbox_kind_check;
alter table outbox add constraint outbox_kind_check check (kind in ('drive', 'embed', 'settings'));
