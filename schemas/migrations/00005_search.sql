-- +goose Up
-- Search: one projection of everything findable, postings for BM25, vectors by
-- embedding space.

create table search_docs (
  workspace_id    bigint not null references workspaces,
  doc             bigint generated always as identity,
  kind            text not null check (kind in ('skill')),
  owner_id        bigint not null,
  conversation_id bigint,
  seq             int,
  event_time      timestamptz,
  status          text not null,
  text            text not null,                       -- what was indexed, and is embedded
  terms           int[] not null,                      -- the postings of this document, sorted: what a re-index takes back
  primary key (workspace_id, doc),
  unique (workspace_id, kind, owner_id)
);

create table lex_stats (
  workspace_id bigint primary key references workspaces,
  docs         int not null
);
create table lex_terms (
  workspace_id bigint not null references workspaces,
  term         int not null,                           -- 32-bit hash of the token
  df           int not null,
  primary key (workspace_id, term)
);
-- w is the term-frequency half of BM25 with a fixed pivot in place of the moving
-- average length, so that rows never need rewriting.
create table lex_postings (
  workspace_id bigint not null references workspaces,
  term         int not null,
  doc          bigint not null,
  w            real not null,
  primary key (workspace_id, term, doc) include (w)
);

create table embedding_spaces (
  id    smallint primary key,
  model text not null,
  dims  int not null check (dims between 1 and 4000),
  state text not null default 'active' check (state in ('building', 'active', 'retired')),
  unique (model, dims)
);
alter table embedding_spaces enable row level security;
alter table embedding_spaces force row level security;
create policy embedding_spaces_all on embedding_spaces using (true) with check (true);
grant select on embedding_spaces to cairn_app, cairn_system;

-- Untyped halfvec: a change of model adds a space and its partition, and never
-- alters a type. Each partition checks its own dimension.
create table embeddings (
  workspace_id bigint not null,
  doc          bigint not null,
  space        smallint not null references embedding_spaces,
  v            halfvec not null,
  primary key (space, workspace_id, doc),
  foreign key (workspace_id, doc) references search_docs on delete cascade
) partition by list (space);
alter table embeddings alter column v set storage plain;

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['search_docs', 'lex_stats', 'lex_terms', 'lex_postings', 'embeddings'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
    execute format('grant select, insert, update, delete on %I to cairn_app', t);
  end loop;
end $$;
-- +goose StatementEnd

-- A space is made by whoever deploys a model. Nothing is granted on the partition
-- itself: a policy on the parent does not protect a child that is read directly.
-- +goose StatementBegin
create function cairn.open_space(space_model text, space_dims int) returns smallint
language plpgsql volatile security definer set search_path = cairn, public, pg_catalog, pg_temp as $$
declare s smallint; t text;
begin
  select id into s from embedding_spaces where model = space_model and dims = space_dims;
  if s is not null then return s; end if;
  perform pg_advisory_xact_lock(2, 0);
  select id into s from embedding_spaces where model = space_model and dims = space_dims;
  if s is not null then return s; end if;
  select coalesce(max(id), 0) + 1 into s from embedding_spaces;
  insert into embedding_spaces (id, model, dims) values (s, space_model, space_dims);
  t := 'embeddings_space_' || s;
  execute format('create table %I partition of embeddings (check (vector_dims(v) = %s)) for values in (%s)', t, space_dims, s);
  execute format('alter table %I enable row level security', t);
  execute format('alter table %I force row level security', t);
  execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  return s;
end $$;
-- +goose StatementEnd
revoke all on function cairn.open_space(text, int) from public;
grant execute on function cairn.open_space(text, int) to cairn_app;
