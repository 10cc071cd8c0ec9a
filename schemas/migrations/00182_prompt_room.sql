-- +goose Up
-- The room of prompt memories. When core or profile is full, entries move to long-term memory: they keep their type, ID
-- and source, search finds them as before, and no prompt contains them. Which ones move is decided by their uses
-- (retrieve_count), by when their content was last confirmed, and by whether a person wrote or approved it.
alter table memories add column moved boolean not null default false;
alter table memories add column approved boolean not null default false;  -- a person approved the content that another origin wrote
alter table memories add column confirmed_at timestamptz;                 -- when the content was last said again, null: not since updated_at
alter table memory_revisions add column moved boolean not null default false;
-- The run whose write moved the entry, of the actions move and return. Such a revision keeps run_id and evidence of the
-- one before, because the content is still from there. It may have been erased.
alter table memory_revisions add column moved_by text collate "C";
alter table memory_revisions drop constraint memory_revisions_action_check;
alter table memory_revisions add constraint memory_revisions_action_check check (action in ('add', 'replace', 'remove', 'merge', 'restore', 'undo', 'move', 'return'));
create index memory_revisions_moved on memory_revisions (workspace_id, moved_by) where moved_by is not null;
create index memories_prompt on memories (workspace_id, type, id) where status = 'active' and not moved and type in ('core', 'profile');
grant update (moved, approved, confirmed_at) on memories to cairn_app;
