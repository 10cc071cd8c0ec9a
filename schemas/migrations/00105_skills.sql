-- +goose Up
-- Skills: a head that moves by compare-and-swap over complete, append-only versions; the versions
-- that runs have read; and pending changes.

-- A skill is a name and the head among its versions.
create table skills (
  workspace_id  bigint not null references workspaces,
  id            bigint generated always as identity,
  name          text not null,                          -- canonical: lower-case words joined by hyphens; reserved while archived
  status        text not null default 'active' check (status in ('candidate', 'draft', 'active', 'stale', 'archived', 'quarantined')),
  head_version  int not null,
  pinned        boolean not null default false,
  origin        text not null check (origin in ('user', 'agent', 'nudge', 'reflection', 'distill', 'designer', 'import')),
  eta           real not null default 0.5 check (eta between 0 and 1), -- reliability
  trials        int not null default 0,
  passes        int not null default 0,
  uses          bigint not null default 0,
  impressions   bigint not null default 0,              -- searches for a task that listed the skill
  last_used_at  timestamptz,
  -- of the head version, copied here for sorting
  category      text not null default '' check (char_length(category) <= 64),
  managed       boolean not null default false,         -- created by an autonomous writer, which may change it again
  tainted       boolean not null default false,         -- contains untrusted text; only a person clears it
  absorbed_into bigint,                                 -- the skill that has taken over its content
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),
  deleted_at    timestamptz,                            -- can be undone for some days from then
  primary key (workspace_id, id),
  -- The result of skill.Canonical: of ASCII only lower-case letters, digits and single hyphens
  -- between them.
  constraint skills_name_canonical check (char_length(name) between 1 and 64
    and name collate "C" !~ '[\u0001-\u002c\u002e\u002f\u003a-\u0060\u007b-\u007f]' and name !~ '(^-|--|-$)'),
  foreign key (workspace_id, absorbed_into) references skills on delete set null (absorbed_into)
);
-- Lists are sorted by category, skills without one first, then by name.
create index skills_listed on skills (workspace_id, category, name);
-- A deleted skill releases its name; an archived one keeps it.
create unique index skills_name on skills (workspace_id, name) where deleted_at is null;
create index skills_managed on skills (workspace_id) where managed and deleted_at is null;
create index skills_gone on skills (deleted_at) where deleted_at is not null;

-- A zip in the object store.
create table packages (
  workspace_id bigint not null references workspaces,
  sha256       bytea not null,                          -- of the zip
  key          text not null,                           -- its key in the object store
  bytes        int not null,
  state        text not null default 'pending' check (state in ('pending', 'live', 'condemned', 'deleting')),
  -- set before each upload; the grace before collection starts here
  touched_at   timestamptz not null default now(),
  primary key (workspace_id, sha256)
);
create index packages_idle on packages (touched_at) where state <> 'live';

-- The complete content of a skill, as one writer left it.
create table skill_versions (
  workspace_id   bigint not null,
  skill_id       bigint not null,
  version        int not null,
  base_version   int not null,                          -- 0 for a creation
  run_id         text collate "C",
  task_key       text,
  display_name   text not null,
  description    text not null check (char_length(description) between 1 and 1024),
  body           text not null,                         -- Markdown after the front matter; fields are parsed from it
  lang           text not null,
  -- of body, name, description and files; if equal, the version is unchanged
  content_sha256 bytea not null,
  package_sha256 bytea not null,
  origin         text not null,
  change_summary text not null default '',
  model          text not null default '',
  prompt_sha256  text not null default '',
  degraded       text[] not null default '{}',          -- optional files that could not be written
  violations     text[] not null default '{}',          -- rejected file names
  risk           text[] not null default '{}',          -- findings of the scan, without their text
  findings       jsonb not null default '[]',           -- of the checks before it took effect
  redactions     int not null default 0,                -- number of secrets that were masked before the model call
  -- a model's score of 0–10 with its reason; null if there is none
  quality        jsonb,
  -- other files in the package than SKILL.md, scripts and references: path, size, hash
  extra          jsonb not null default '[]',
  restores       int not null default 0,                -- of a rollback: the version that it restored
  category       text not null default '' check (char_length(category) <= 64
    and category collate "C" !~ '[\u0001-\u002c\u002e\u002f\u003a-\u0060\u007b-\u007f]' and category !~ '(^-|--|-$)'),
  op             text not null default 'update' check (op in ('create', 'update', 'patch', 'rename', 'rollback')),
  -- of the normalized body: equal bodies are near duplicates under any name
  body_sha256    bytea,
  created_at     timestamptz not null default now(),
  primary key (workspace_id, skill_id, version),
  unique (workspace_id, run_id, task_key),
  foreign key (workspace_id, skill_id) references skills,
  foreign key (workspace_id, package_sha256) references packages,
  foreign key (workspace_id, run_id) references runs
);
create index skill_versions_package on skill_versions (workspace_id, package_sha256);
create index skill_versions_recent on skill_versions (workspace_id, created_at);

create table skill_files (
  workspace_id bigint not null,
  skill_id     bigint not null,
  version      int not null,
  path         text not null,                           -- scripts/x.py, reference/y.md
  content      text not null,
  primary key (workspace_id, skill_id, version, path),
  foreign key (workspace_id, skill_id, version) references skill_versions
);

-- The sources of a version: ranges of messages, both ends inclusive.
create table skill_sources (
  workspace_id    bigint not null,
  skill_id        bigint not null,
  version         int not null,
  conversation_id bigint not null,
  from_seq        int not null,
  to_seq          int not null check (to_seq >= from_seq),
  primary key (workspace_id, skill_id, version, conversation_id, from_seq),
  foreign key (workspace_id, skill_id, version) references skill_versions,
  foreign key (workspace_id, conversation_id) references conversations
);

-- One row for each use of a skill, under the caller's ID, so that a retry is counted once. The
-- counters of skills are derived from it.
create table skill_uses (
  workspace_id bigint not null,
  skill_id     bigint not null,
  use_id       text not null,
  version      int not null,
  change_id    bigint,                                  -- the canary that was shown; null for a version that was in force
  outcome      text not null default '' check (outcome in ('', 'pass', 'fail')),
  decided_at   timestamptz,                             -- when the outcome was stated; a later statement replaces it
  created_at   timestamptz not null default now(),
  primary key (workspace_id, skill_id, use_id),
  foreign key (workspace_id, skill_id) references skills
);
create index skill_uses_by_id on skill_uses (workspace_id, use_id);

-- The skills that a run has read or written. An autonomous run may change only these.
create table skill_views (
  workspace_id bigint not null,
  run_id       text collate "C" not null,
  skill_id     bigint not null,
  version      int not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, run_id, skill_id, version),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, skill_id, version) references skill_versions
);

-- A pending change. The head does not move until it is approved.
create table pending_writes (
  workspace_id  bigint not null references workspaces,
  id            bigint generated always as identity,
  skill_id      bigint not null,
  base_version  int not null,
  version       jsonb not null,                         -- the proposed head
  reason        text not null,                          -- reason for the approval: upload, risk
  origin        text not null,
  state         text not null default 'pending' check (state in ('pending', 'approved', 'rejected', 'failed', 'expired')),
  op            text not null default 'update' check (op in ('update', 'patch', 'rename', 'rollback', 'archive', 'delete')),
  gist          text not null default '',               -- one line, written without a model
  absorbed_into bigint,
  run_id        text collate "C",
  canary_until  timestamptz,                            -- until then it is shown in a part of the conversations
  created_at    timestamptz not null default now(),
  decided_at    timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, skill_id) references skills,
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, absorbed_into) references skills on delete set null (absorbed_into)
);
create index pending_writes_open on pending_writes (workspace_id, skill_id) where state = 'pending';
create index pending_writes_recent on pending_writes (workspace_id, created_at);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['skills', 'packages', 'skill_versions', 'skill_files', 'skill_sources', 'skill_uses', 'skill_views', 'pending_writes'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on skills, skill_uses, pending_writes to cairn_app;
-- Versions are never changed. Old ones may be pruned, together with their views.
grant select, insert, delete on packages, skill_versions, skill_files, skill_sources, skill_views to cairn_app;
grant update (status, head_version, pinned, eta, trials, passes, uses, impressions, last_used_at, updated_at, category, managed, tainted, deleted_at, absorbed_into) on skills to cairn_app;
grant update (state, touched_at) on packages to cairn_app;
grant update (outcome, decided_at, version, change_id) on skill_uses to cairn_app;
grant update (state, decided_at, canary_until) on pending_writes to cairn_app;

create policy skills_system on skills for select to cairn_system using (managed and deleted_at is null);
create policy skills_system_gone on skills for select to cairn_system using (deleted_at is not null);
grant select (workspace_id, managed, deleted_at) on skills to cairn_system;

create policy packages_system on packages for select to cairn_system using (state <> 'live');
grant select (workspace_id, sha256, state, touched_at) on packages to cairn_system;
