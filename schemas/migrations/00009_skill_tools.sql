-- +goose Up
-- The skill tools: who may change a skill, what a run has read, and a delete that can be taken back.

alter table skills add column managed boolean not null default false;       -- made by an autonomous writer, which may change it again
alter table skills add column tainted boolean not null default false;       -- untrusted text went into it; only a person clears it
alter table skills add column deleted_at timestamptz;                       -- from here it can be taken back for some days
alter table skills add column absorbed_into bigint;                         -- the skill that says now what this one said
alter table skills add foreign key (workspace_id, absorbed_into) references skills;
-- What skill.Canonical makes: of ASCII only lower-case letters, digits and single hyphens between them.
alter table skills add constraint skills_name_canonical check (char_length(name) between 1 and 64
  and name collate "C" !~ '[\u0001-\u002c\u002e\u002f\u003a-\u0060\u007b-\u007f]' and name !~ '(^-|--|-$)');
-- A deleted skill gives its name back; an archived one keeps it.
alter table skills drop constraint skills_workspace_id_name_key;
create unique index skills_name on skills (workspace_id, name) where deleted_at is null;
grant update (category, managed, tainted, deleted_at, absorbed_into) on skills to cairn_app; -- category is the head version's, kept here for the order of lists

alter table skill_versions add column category text not null default '' check (char_length(category) <= 64
  and category collate "C" !~ '[\u0001-\u002c\u002e\u002f\u003a-\u0060\u007b-\u007f]' and category !~ '(^-|--|-$)');
alter table skill_versions add column op text not null default 'update' check (op in ('create', 'update', 'patch', 'rename', 'rollback'));
alter table skill_versions add column body_sha256 bytea;                    -- of the normalised body: equal bodies are near duplicates under any name
create index skill_versions_recent on skill_versions (workspace_id, created_at);

alter table pending_writes add column op text not null default 'update' check (op in ('update', 'patch', 'rename', 'rollback', 'archive', 'delete'));
alter table pending_writes add column gist text not null default '';        -- one line, made without a model
alter table pending_writes add column absorbed_into bigint;
alter table pending_writes add column run_id bigint;
alter table pending_writes drop constraint pending_writes_state_check;
alter table pending_writes add constraint pending_writes_state_check check (state in ('pending', 'approved', 'rejected', 'failed'));
alter table pending_writes add foreign key (workspace_id, absorbed_into) references skills;
alter table pending_writes add foreign key (workspace_id, run_id) references runs;
create index pending_writes_recent on pending_writes (workspace_id, created_at);

-- What a run has read, or written, of skills: an autonomous one changes nothing else.
create table skill_views (
  workspace_id bigint not null,
  run_id       bigint not null,
  skill_id     bigint not null,
  version      int not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, run_id, skill_id, version),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, skill_id, version) references skill_versions
);
alter table skill_views enable row level security;
alter table skill_views force row level security;
create policy skill_views_app on skill_views to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert, delete on skill_views to cairn_app; -- they go with the versions that nobody needs any more
