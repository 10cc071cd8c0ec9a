package learning

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
)

// EvolveSpec is what a round of evolution is pinned to.
type EvolveSpec struct {
	Spec
	Keeping SpanOptions `json:"keeping"`
	Bank    string      `json:"bank"`
	BankID  int64       `json:"bank_id"`
	Base    int         `json:"base"`
	Recipe  string      `json:"recipe"`
	Score   string      `json:"score"`
	Held    []int64     `json:"held"`          // conversations that the candidate is judged on
	Due     bool        `json:"due,omitempty"` // nobody asked for it
}

// EvolveRequest asks for a round.
type EvolveRequest struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // the caller's; empty is the next round on the bank's version
	EvolveSpec
}

// roundCases are how many of the latest open cases a round chooses from.
const roundCases = designer.DefaultRoom

// Evolve makes a round durable and has its workflow started.
func (s *Service) Evolve(ctx context.Context, r EvolveRequest) (out run.Run, err error) {
	spec := r.EvolveSpec
	spec.Bank = bankName(spec.Bank)
	if spec.Recipe == "" {
		spec.Recipe = memoryskill.TargetRecipe
	}
	if spec.Score == "" {
		spec.Score = ByRecall
	}
	spec.Keeping = spec.Keeping.usual(DefaultKeeping().K)
	if err := spec.Keeping.check(); err != nil {
		return out, err
	}
	if spec.Model, err = spec.Model.instructed(); err != nil {
		return out, err
	}
	err = s.Store.WithEvolve(ctx, r.Workspace, func(ctx context.Context, tx Tx) error {
		head, err := s.bank(ctx, tx, spec.Bank)
		if err != nil {
			return err
		}
		spec.BankID, spec.Base = head.ID, head.Head
		if r.Keeping.Mode == "" {
			if spec.Keeping.Mode, err = cutting(ctx, tx, spec.Keeping.Mode); err != nil {
				return err
			}
		}
		all, _, err := s.traces(ctx, tx, head.ID)
		if err != nil {
			return err
		}
		_, spec.Held = split(all)
		rounds, err := tx.Rounds().Rounds(ctx, head.ID, 1)
		if err != nil {
			return err
		}
		key := r.ID
		if key == "" {
			key = fmt.Sprintf("v%d-%d", head.Head, 1)
			if len(rounds) > 0 {
				key = fmt.Sprintf("v%d-%d", head.Head, rounds[0].Number+1)
			}
		}
		key = spec.Bank + "/" + key
		raw, err := json.Marshal(spec)
		if err != nil {
			return fmt.Errorf("encode the configuration: %w", err)
		}
		out, err = tx.Runs().PutAgentRun(ctx, memoryagent.NewRun{Kind: run.Evolve, Key: key, Generation: 1, ArgsSHA: sha256.Sum256([]byte(key)), Spec: raw, WorkflowID: contract.EvolveID(r.WorkspaceKey, spec.Bank, contract.VisibleKey(key))})
		if err != nil || out.Status == run.Ended {
			return err
		}
		return tx.Runs().EnqueueRun(ctx, out.Ref.Run)
	})
	if err == nil {
		s.start(ctx, r.WorkspaceKey, out)
	}
	return out, err
}

// OpenRound takes the bank and opens the round of a run. Over is set when an
// earlier attempt has ended it.
func (s *Service) OpenRound(ctx context.Context, ref run.Ref) (over *Round, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			over = new(Round)
			return json.Unmarshal(r.Result, over)
		}
		spec, err := specOf[EvolveSpec](r)
		if err != nil {
			return err
		}
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil {
			return err
		}
		if _, err := tx.Rounds().PutRound(ctx, spec.BankID, ref.Run, spec.Base); err != nil {
			return err
		}
		_, err = tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return over, err
}

// round reads a round with what it is pinned to.
func (s *Service) round(ctx context.Context, ref run.Ref, also func(Tx, EvolveSpec, Head) error) (r Round, spec EvolveSpec, head Head, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		of, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = specOf[EvolveSpec](of); err != nil {
			return err
		}
		if r, err = tx.Rounds().RoundOf(ctx, ref.Run); err != nil {
			return err
		}
		if head, err = s.at(ctx, tx, BankRow{ID: spec.BankID, Name: spec.Bank, Head: spec.Base}, spec.Base); err != nil || also == nil {
			return err
		}
		return also(tx, spec, head)
	})
	return r, spec, head, err
}

// MineRound chooses the cases of a round. Those of held-out conversations are
// never among them.
func (s *Service) MineRound(ctx context.Context, ref run.Ref) (n int, err error) {
	var failed []Case
	traces := map[int64]Trace{}
	r, spec, _, err := s.round(ctx, ref, func(tx Tx, spec EvolveSpec, h Head) error {
		if failed, err = open(ctx, tx, h.ID, roundCases); err != nil {
			return err
		}
		failed = slices.DeleteFunc(failed, func(c Case) bool { return slices.Contains(spec.Held, c.Conversation) })
		for _, c := range failed {
			if _, read := traces[c.Conversation]; read || c.Conversation == 0 {
				continue
			}
			if traces[c.Conversation], err = s.trace(ctx, tx, c.Conversation, nil, spec.Keeping.Spanning); err != nil {
				return err
			}
			if err := tx.Decisions().ShownTo(ctx, ref.Run, c.Conversation); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || r.Outcome != "" || len(r.Mined) > 0 {
		return len(r.Mined), err
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return 0, err
	}
	known, found, err := s.remembered(ctx, ref, failed, spec.Keeping.TopN)
	if err != nil {
		return 0, err
	}
	if r.Mined, err = s.mine(ctx, failed, traces, func(c Case) []string { return known[c.Key] }, func(c Case) []string { return found[c.Key] }, recipe); err != nil {
		return 0, err
	}
	for id := range traces {
		r.Conversations = append(r.Conversations, id)
	}
	slices.Sort(r.Conversations)
	return len(r.Mined), s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error { return tx.Rounds().SaveRound(ctx, r) })
}

// manyMemories are looked through for the answer of a case.
const manyMemories = 500

// remembered is what a workspace remembers that is near to each question, and of
// it what the question was answered from.
func (s *Service) remembered(ctx context.Context, ref run.Ref, cases []Case, topN int) (known, found map[string][]string, err error) {
	var texts []string
	for _, c := range cases {
		texts = append(texts, c.Question)
	}
	vectors, err := s.embed(ctx, texts)
	if err != nil {
		return nil, nil, err
	}
	known, found = map[string][]string{}, map[string][]string{}
	for i, c := range cases {
		err := s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
			near, err := tx.Transcripts().Neighbours(ctx, vectors[i], s.Space, manyMemories)
			for n, one := range near {
				known[c.Key] = append(known[c.Key], one.Content)
				if n < topN && len(c.Retrieved) == 0 {
					found[c.Key] = append(found[c.Key], one.Content)
				}
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		if len(c.Retrieved) > 0 {
			err = s.LongTerm.Store.WithLongTerm(ctx, ref.Workspace, func(ctx context.Context, tx longterm.Tx) error {
				entries, err := tx.Memories().LongTerm(ctx, c.Retrieved)
				for _, e := range entries {
					found[c.Key] = append(found[c.Key], e.Content)
				}
				return err
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return known, found, nil
}

// spoken is the language that most of the cases are in.
func spoken(cases []Mined) string {
	var said []transcript.Message
	for _, c := range cases {
		said = append(said, transcript.Message{Role: transcript.User, Content: strings.Join(append([]string{c.Question}, c.Gold...), " ")})
	}
	return language(said)
}

// DesignRound has the cases analysed and edits proposed. False means that there is
// no candidate to try.
func (s *Service) DesignRound(ctx context.Context, ref run.Ref) (found bool, err error) {
	var failed []string
	var stats map[string]memoryskill.Stats
	r, spec, head, err := s.round(ctx, ref, func(tx Tx, spec EvolveSpec, h Head) error {
		earlier, err := tx.Rounds().Rounds(ctx, h.ID, 50)
		for _, e := range earlier {
			if e.Outcome == Rejected && e.Candidate != nil {
				failed = append(failed, edits(e.Candidate))
			}
		}
		if err == nil {
			stats, err = tx.BankContents().SkillStats(ctx, h.ID)
		}
		return err
	})
	if err != nil || r.Outcome != "" || r.Candidate != nil {
		return r.Candidate != nil, err
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return false, err
	}
	d := designing{ref: ref, step: "design", model: spec.Model, lang: spoken(r.Mined), recipe: recipe, bank: head.Bank, mined: r.Mined, failed: failed, stats: stats, beat: func() {}}
	if r.Analysis, err = s.diagnose(ctx, d); err == nil {
		r.Proposal, r.Candidate, err = s.propose(ctx, d, r.Analysis)
	}
	if f, over := ledger.IsPermanent(err); over {
		r.Outcome, r.Note = RoundError, f.Error()
	} else if err != nil {
		return false, err
	}
	return r.Candidate != nil, s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil {
			return err
		}
		return tx.Rounds().SaveRound(ctx, r)
	})
}
