-- +goose Up
-- Memory skills that learn: banks of memory skills, the policies that choose from them, decisions,
-- questions to memory, and scores of answers.

-- A version of a memory skill, identified by its content.
create table memory_skills (
  workspace_id bigint not null references workspaces,
  id           text not null,                           -- name@hash
  body         jsonb not null,                          -- the version: skill, content, parent, author, origin
  created_at   timestamptz not null default now(),
  primary key (workspace_id, id)
);

-- Weights of a policy, or the state of its optimizer, identified by their SHA-256. Those of
-- finished training iterations are deleted; those of a version are kept.
create table policies (
  workspace_id bigint not null references workspaces,
  sha          text not null check (sha ~ '^[0-9a-f]{64}$'),
  kind         text not null check (kind in ('policy', 'optimizer')),
  blob         bytea not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, sha)
);

-- A bank is a set of memory skills with the policy that chooses from it.
create table banks (
  workspace_id bigint not null references workspaces,
  id           bigint generated always as identity,
  name         text not null check (name ~ '^[a-z][a-z0-9_-]{0,63}$'),
  head         int not null default 0,                  -- number of the active version
  created_at   timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, name)
);

-- Bank, policy and optimizer as one snapshot: they are promoted and rolled back together.
create table bank_versions (
  workspace_id  bigint not null,
  bank_id       bigint not null,
  number        int not null check (number > 0),
  parent        int,                                    -- the version that it is based on
  action        text not null check (action in ('seed', 'import', 'evolve', 'train', 'adapt', 'rollback')),
  bank_sha      text not null,
  capacity      int not null,
  members       text[] not null,                        -- IDs of skills, ascending
  fresh         text[] not null default '{}',           -- those that are new since the previous version
  policy_sha    text not null,
  optimizer_sha text not null,
  snapshot_sha  text not null,                          -- of the three
  reason        text not null default '',
  run_id        text collate "C",
  created_at    timestamptz not null default now(),
  primary key (workspace_id, bank_id, number),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, policy_sha) references policies,
  foreign key (workspace_id, optimizer_sha) references policies,
  foreign key (workspace_id, run_id) references runs
);

-- Statistics of the versions of memory skills. A full bank drops its least useful skill by them.
create table skill_stats (
  workspace_id bigint not null,
  bank_id      bigint not null,
  skill_id     text not null,                           -- a version of memory_skills
  stats        jsonb not null,                          -- count, mean, recent rewards, usage
  updated_at   timestamptz not null default now(),
  primary key (workspace_id, bank_id, skill_id),
  foreign key (workspace_id, bank_id) references banks
);

-- One choice of skills for one span, with its outcome.
create table decisions (
  workspace_id    bigint not null,
  id              text not null,                        -- run/span, as memories refer to it
  run_id          text collate "C" not null,
  conversation_id bigint not null,
  span            int not null,
  from_seq        int not null,
  to_seq          int not null,
  bank_id         bigint not null,
  bank_version    int not null,
  choice          jsonb not null,                       -- candidates, logits, bias, choice, its probability
  outcome         jsonb,                                -- actions and their results; null until the span has ended
  -- drawn by the policy's probabilities; only such decisions can be learned from
  sampled         boolean not null default false,
  update_run      text collate "C",                     -- the update that learns from it; at most one
  -- number of the update whose policy chose; null for the version's own policy
  canary          int,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, id),
  unique (workspace_id, run_id, span),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, bank_id) references banks,
  constraint decisions_update_run_fkey foreign key (workspace_id, update_run) references runs
);
create index decisions_sampled on decisions (workspace_id, created_at) where sampled;
create index decisions_of_version on decisions (workspace_id, bank_id, bank_version);

-- The score of an answer, for each decision behind the memories in its prompt.
create table decision_outcomes (
  workspace_id bigint not null,
  decision_id  text not null,
  op_id        text not null,                           -- of the caller that scored; counted once
  run_id       text collate "C" not null,               -- the run that answered
  source       text not null check (source in ('praise', 'feedback', 'correction', 'probe')),
  score        float8 not null check (score between 0 and 1),
  voter        text not null default '',                -- of the vote that it is the effect of, see votes
  created_at   timestamptz not null default now(),
  primary key (workspace_id, decision_id, op_id),
  foreign key (workspace_id, decision_id) references decisions,
  foreign key (workspace_id, run_id) references runs
);

-- An update of a policy before its activation: compared in the shadow, used for a share of the live
-- builds, promoted or dropped.
create table policy_updates (
  workspace_id  bigint not null,
  bank_id       bigint not null,
  number        int not null,
  run_id        text collate "C" not null,
  base          int not null,                           -- version of the bank that it started from
  state         text not null check (state in ('shadow', 'canary', 'promoted', 'dropped')),
  policy_sha    text not null,                          -- its weights are kept until it is dropped
  optimizer_sha text not null,
  decisions     int not null,                           -- number of decisions that it has learned from
  shadow        jsonb not null default '{}',            -- difference from the active policy
  canary        jsonb,                                  -- result compared with the active policy, when it was judged
  note          text not null default '',
  created_at    timestamptz not null default now(),
  canary_at     timestamptz,
  ended_at      timestamptz,
  primary key (workspace_id, bank_id, number),
  unique (workspace_id, run_id),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, run_id) references runs
);
create unique index policy_updates_open on policy_updates (workspace_id, bank_id) where state in ('shadow', 'canary');

-- Questions to memory, with what is known of their answers. A hard case of live memory exists as
-- long as it keeps failing: a case that has not failed for a while expires, as in the buffer of a
-- training.
create table cases (
  workspace_id    bigint not null,
  id              bigint generated always as identity,
  bank_id         bigint not null,
  key             text not null,
  source          text not null check (source in ('feedback', 'correction', 'retrieval', 'import', 'training')),
  state           text not null default 'open' check (state in ('open', 'resolved', 'expired')),
  question        text not null,
  gold            text[] not null default '{}',         -- correct answers; any of them suffices
  evidence        int[] not null default '{}',          -- messages of the conversation that contain the answer
  category        text not null default '',
  prediction      text not null default '',
  retrieved       text[] not null default '{}',         -- IDs of the memories that were found
  score           float8 not null default 0 check (score between 0 and 1),
  failures        int not null default 0,               -- 0 means a known question that has never failed
  iteration       int not null default 0,
  conversation_id bigint,                               -- source of the answer; null if unknown
  run_id          text collate "C",
  op_id           text not null,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  failed_at       timestamptz not null default now(),   -- of the last failure
  primary key (workspace_id, id),
  unique (workspace_id, bank_id, key),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, run_id) references runs
);
create index cases_open on cases (workspace_id, bank_id, id) where state = 'open' and failures > 0;

-- Ratings. A voter has one vote on an answer: a later vote replaces the earlier one and its effect on
-- learning. The columns case_id, failures and decisions are that effect.
create table votes (
  workspace_id    bigint not null references workspaces,
  voter           text not null,                        -- key/ID of an API key, cli/ACCOUNT of the command line, or system
  answer          text not null,                        -- turn/ID of the run that answered, or q/HASH of a question given as text
  op_id           text not null,                        -- of the latest vote
  source          text not null check (source in ('praise', 'feedback', 'correction')),
  burst           boolean not null default false,       -- one of too many within a minute; has no effect
  run_id          text collate "C",                     -- that answered
  conversation_id bigint,
  case_id         bigint,                               -- the case of the question
  failures        int not null default 0,               -- that the vote added to the case; negative if it took some away
  decisions       text[] not null default '{}',         -- whose skills have the vote's score
  voted_at        timestamptz not null default now(),
  primary key (workspace_id, voter, answer),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, case_id) references cases
);
create index votes_lately on votes (workspace_id, voter, voted_at);
create index votes_bursts on votes (workspace_id) where burst;

-- One round of the designer.
create table evolution_rounds (
  workspace_id  bigint not null,
  bank_id       bigint not null,
  number        int not null,
  run_id        text collate "C" not null,
  base          int not null,                           -- version of the bank that it started from
  conversations bigint[] not null default '{}',         -- the sources of its cases
  mined         jsonb not null default '[]',            -- the cases that it examined, with their failures
  analysis      jsonb,
  proposal      jsonb,
  candidate     jsonb,                                  -- the bank that the proposal creates
  comparison    jsonb,                                  -- candidate against incumbent on held-out traces
  outcome       text not null default '' check (outcome in ('', 'promoted', 'rejected', 'no_change', 'no_cases', 'no_traces', 'superseded', 'failed')),
  note          text not null default '',
  created_at    timestamptz not null default now(),
  ended_at      timestamptz,
  primary key (workspace_id, bank_id, number),
  unique (workspace_id, run_id),
  foreign key (workspace_id, bank_id) references banks,
  foreign key (workspace_id, run_id) references runs
);

-- The result of each step of a training or of a comparison. The first result stays.
create table training_steps (
  workspace_id    bigint not null,
  run_id          text collate "C" not null,
  step            text not null,                        -- stage/iteration/episode, as far as applicable
  conversation_id bigint,                               -- of an episode
  result          jsonb not null,
  created_at      timestamptz not null default now(),
  primary key (workspace_id, run_id, step),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations
);

-- Probes: questions generated from a remembered conversation, whose answers are known. The answers
-- from memory score the decisions behind the memories that are found for them.
create table probes (
  workspace_id    bigint not null,
  run_id          text collate "C" not null,            -- that created it
  number          int not null,
  conversation_id bigint not null,                      -- its source
  bank_id         bigint not null,
  question        text not null,
  answer          text not null,
  evidence        int[] not null,                       -- messages of the conversation that contain the answer
  decisions       text[] not null,                      -- of the spans with these messages
  state           text not null default 'open' check (state in ('open', 'scored', 'unscored', 'error')),
  score           float8 check (score between 0 and 1),
  note            text not null default '',             -- reason for a missing score
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  primary key (workspace_id, run_id, number),
  check ((state = 'scored') = (score is not null)),
  foreign key (workspace_id, run_id) references runs,
  foreign key (workspace_id, conversation_id) references conversations,
  foreign key (workspace_id, bank_id) references banks
);

-- +goose StatementBegin
do $$
declare t text;
begin
  foreach t in array array['memory_skills', 'policies', 'banks', 'bank_versions', 'skill_stats', 'decisions', 'decision_outcomes', 'policy_updates', 'cases', 'votes', 'evolution_rounds', 'training_steps', 'probes'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format($p$create policy %I on %I to cairn_app using (workspace_id = nullif(current_setting('cairn.workspace', true), '')::bigint)$p$, t || '_app', t);
  end loop;
end $$;
-- +goose StatementEnd
grant select, insert on memory_skills, banks, bank_versions, skill_stats, decisions, decision_outcomes, policy_updates, cases, votes, evolution_rounds, probes to cairn_app;
grant select, insert, delete on policies, training_steps to cairn_app;
grant delete on decision_outcomes to cairn_app;         -- those of a replaced vote
grant update (op_id, source, burst, run_id, conversation_id, case_id, failures, decisions, voted_at) on votes to cairn_app;
grant update (head) on banks to cairn_app;
grant update (stats, updated_at) on skill_stats to cairn_app;
grant update (outcome, update_run) on decisions to cairn_app;
grant update (state, shadow, canary, note, canary_at, ended_at) on policy_updates to cairn_app;
grant update (source, state, gold, evidence, category, prediction, retrieved, score, failures, iteration, conversation_id, run_id, op_id, updated_at, failed_at) on cases to cairn_app;
grant update (conversations, mined, analysis, proposal, candidate, comparison, outcome, note, ended_at) on evolution_rounds to cairn_app;
grant update (state, score, note, ended_at) on probes to cairn_app;

-- The sweep skips a workspace without decisions to learn from.
create policy decisions_system on decisions for select to cairn_system using (sampled and update_run is null);
grant select (workspace_id, sampled, update_run) on decisions to cairn_system;

-- For the judgement by the sweep, and for metrics.
create policy policy_updates_system on policy_updates for select to cairn_system using (state = 'canary');
grant select (workspace_id, state, canary_at) on policy_updates to cairn_system;

-- The sweep starts nothing without open questions: it sees only that there are any.
create policy cases_system on cases for select to cairn_system using (state = 'open' and failures > 0);
grant select (workspace_id, state, failures) on cases to cairn_system;
