-- +goose Up
-- The prompts that a version of a bank has instead of the built-in ones, by stage and language.
alter table bank_versions add column prompts jsonb not null default '{}';

-- A new action: other prompts.
alter table bank_versions drop constraint bank_versions_action_check;
alter table bank_versions add constraint bank_versions_action_check check (action in ('seed', 'import', 'evolve', 'train', 'adapt', 'rollback', 'prompt'));

-- The latest decisions of a bank.
create index decisions_lately on decisions (workspace_id, bank_id, created_at desc, id desc);
