-- +goose Up
-- How the versions of memory skills have done: numbers, by which a full bank
-- gives up its least useful skill.

create table skill_stats (
  workspace_id    bigint not null,
  bank_id         bigint not null,
  skill_id        text not null,                       -- a version of memory_skills
  stats           jsonb not null,                      -- count, mean, recent rewards, usage
  updated_at      timestamptz not null default now(),
  primary key (workspace_id, bank_id, skill_id),
  foreign key (workspace_id, bank_id) references banks
);
alter table skill_stats enable row level security;
alter table skill_stats force row level security;
create policy skill_stats_app on skill_stats to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint);
grant select, insert on skill_stats to cairn_app;
grant update (stats, updated_at) on skill_stats to cairn_app;

insert into erase_rules (tbl, how, scope) values ('skill_stats', 'none', null); -- numbers, of the workspace
select cairn.cover_erase();
