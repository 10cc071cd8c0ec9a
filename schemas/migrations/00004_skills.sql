-- +goose Up
-- Skills: a head that moves by compare-and-swap over full, append-only versions.

create table skills (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  name         text not null,                          -- canonical: lower-case words joined by hyphens; reserved while archived
  status       text not null default 'active' check (status in ('candidate', 'draft', 'active', 'stale', 'archived', 'quarantined')),
  head_version int not null,
  pinned       boolean not null default false,
  origin       text not null check (origin in ('user', 'agent', 'nudge', 'reflection', 'distill', 'designer', 'import')),
  eta          real not null default 0.5,              -- reliability, 0–1
  trials       int not null default 0,
  passes       int not null default 0,
  uses         bigint not null default 0,
  last_used_at timestamptz,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, name)
);

create table packages (
  workspace_id bigint not null references workspaces,
  sha256       bytea not null,                         -- of the zip
  key          text not null,                          -- where the object store keeps it
  bytes        int not null,
  state        text not null default 'pending' check (state in ('pending', 'live', 'condemned')),
  touched_at   timestamptz not null default now(),     -- before each upload: collection waits from here
  primary key (workspace_id, sha256)
);
create index packages_idle on packages (touched_at) where state <> 'live';

create table skill_versions (
  workspace_id   bigint not null,
  skill_id       bigint not null,
  version        int not null,
  base_version   int not null,                         -- 0 for a creation
  run_id         bigint,
  task_key       text,
  display_name   text not null,
  description    text not null check (char_length(description) between 1 and 1024),
  body           text not null,                        -- Markdown after the front matter; fields are parsed from it
  lang           text not null,
  content_sha256 bytea not null,                       -- of body, name, description and files: equal means unchanged
  package_sha256 bytea not null,
  origin         text not null,
  change_summary text not null default '',
  model          text not null default '',
  prompt_sha256  text not null default '',
  degraded       text[] not null default '{}',         -- optional files that could not be written
  violations     text[] not null default '{}',         -- file names that were refused
  created_at     timestamptz not null default now(),
  primary key (workspace_id, skill_id, version),
  unique (workspace_id, run_id, task_key),
  foreign key (workspace_id, skill_id) references skills,
  foreign key (workspace_id, package_sha256) references packages,
  foreign key (workspace_id, run_id) references runs
);
create index skill_versions_package on skill_versions (workspace_id, package_sha256);

create table skill_files (
  workspace_id bigint not null,
  skill_id     bigint not null,
  version      int not null,
  path         text not null,                          -- scripts/x.py, reference/y.md
  content      text not null,
  primary key (workspace_id, skill_id, version, path),
  foreign key (workspace_id, skill_id, version) references skill_versions
);

-- Where a version came from: ranges of messages, both ends included.
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

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['skills', 'packages', 'skill_versions', 'skill_files', 'skill_sources'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant update (status, head_version, pinned, eta, trials, passes, uses, last_used_at, updated_at) on skills to cairn_app;
grant update (state, touched_at), delete on packages to cairn_app;
create policy packages_system on packages for select to cairn_system using (state <> 'live');
grant select (workspace_id, sha256, state, touched_at) on packages to cairn_system;
