package evaluation

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
)

// startedUnit is a unit whose run was accepted.
type startedUnit struct {
	Workspace int64  `json:"workspace"`
	Run       string `json:"run,omitempty"`
	Name      string `json:"name,omitempty"` // of the workspace
	Key       string `json:"key,omitempty"`  // of the workspace
	Skills    int    `json:"skills"`         // in the bank
}

// StartUnit accepts the build or the training of a unit, unless an earlier attempt has. A budget that is
// used up refuses it.
func (s *Service) StartUnit(ctx context.Context, in contract.UnitInput) (out contract.StartUnitResult, err error) {
	e, err := s.read(ctx, in.Ref())
	if err != nil {
		return out, err
	}
	n := in.Unit
	if n < 0 || n >= len(e.units) {
		return out, fault.Newf(fault.InvalidArgument, "run %s has no unit %d", in.Run, n)
	}
	u, done := e.units[n], false
	var sample storedSample
	err = s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if u.Sample != "" {
			if sample, err = readSample(ctx, tx, e, u.Sample); err != nil {
				return err
			}
			out.Groups = groups(len(sample.Questions))
		}
		done, err = bank.IsDone(ctx, tx, in.Run, doneStep(n))
		return err
	})
	if err != nil || done {
		return out, err
	}
	if u.Row == None {
		return out, nil
	}
	if err := s.checkBudget(ctx, e, u); err != nil {
		return out, err
	}
	out.Await = true
	var started startedUnit
	if u.Kind == trainUnit {
		started, err = s.startTraining(ctx, e, u)
	} else {
		started, err = s.startBuild(ctx, e, n, u, sample)
	}
	if err != nil {
		return out, err
	}
	return out, s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		return bank.SaveStep(ctx, tx, in.Run, attemptStep(n, e.run.Attempt), 0, started)
	})
}

// attemptStep names the run of a unit in an attempt at the evaluation.
func attemptStep(n, attempt int) string { return fmt.Sprintf("%s/%05d", unitStep(n), attempt) }

// startTraining imports the training conversations into the bank of a row, and accepts its training.
func (s *Service) startTraining(ctx context.Context, e evaluation, u unit) (out startedUnit, err error) {
	ws := e.run.Ref.Workspace
	seed, err := seedBank()
	if err != nil {
		return out, err
	}
	name := artifact(u.Row)
	head, err := s.ports.Banks.Install(ctx, ws, name, bank.Draft{Bank: seed, Action: bank.ActionSeed,
		Reason: "bank of the row " + u.Row})
	if err != nil {
		return out, err
	}
	var traces []bank.ImportedTrace
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		for _, id := range e.spec.Split.Train {
			t, err := importedTrace(ctx, tx, e, id)
			if err != nil {
				return err
			}
			traces = append(traces, t)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if _, err := s.ports.Cases.Import(ctx, ws, name, traces); err != nil {
		return out, err
	}
	l := e.spec.Learning
	spec := train.Spec{RunSpec: e.spec.RunSpec, Keeping: e.spec.Keeping, Bank: name, Recipe: l.Recipe, Stages: l.Stages,
		Iterations: l.Iterations, Episodes: l.Episodes, Parallel: e.limits.Parallel, Seed: e.spec.Seed,
		Score: l.Score, Design: true, RefineOnly: u.Row == RefineOnly}
	made, err := s.ports.Trainings.AcceptSplit(ctx, train.Request{Workspace: ws, WorkspaceKey: e.key,
		ID: fmt.Sprintf("%s-%d", e.run.Ref.Run, e.run.Attempt), Spec: spec})
	return startedUnit{Workspace: ws, Key: e.key, Run: made.Ref.Run, Skills: head.Bank.Len()}, err
}

// importedTrace reads a conversation in the form of training.
func importedTrace(ctx context.Context, tx store.Tx, e evaluation, id string) (out bank.ImportedTrace, err error) {
	sample, err := readSample(ctx, tx, e, id)
	if err != nil {
		return out, err
	}
	messages, err := readMessages(ctx, tx, sample.Conversation)
	out = bank.ImportedTrace{ID: id, Messages: messages}
	for _, q := range sample.Questions {
		out.Questions = append(out.Questions, bank.ImportedQuestion{ID: q.ID, Question: q.Text, Answers: q.Gold,
			Evidence: q.Evidence, Category: q.Category})
	}
	return out, err
}

func readMessages(ctx context.Context, tx store.Tx, conversation int64) ([]transcript.Message, error) {
	const all = 1 << 30
	c, err := tx.Transcripts().Conversation(ctx, conversation, 0, all)
	return c.Messages, err
}

// startBuild makes the workspace of a unit with the bank of its row, and accepts the build of its
// conversation.
func (s *Service) startBuild(ctx context.Context, e evaluation, n int, u unit, sample storedSample) (out startedUnit,
	err error) {
	draft, keeping, err := s.bankFor(ctx, e, u)
	if err != nil {
		return out, err
	}
	var messages []transcript.Message
	err = s.ports.Store.InWorkspace(ctx, e.run.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		messages, err = readMessages(ctx, tx, sample.Conversation)
		return err
	})
	if err != nil {
		return out, err
	}
	ws, err := s.ports.Workspaces.MakeWorkspace(ctx, fmt.Sprintf("%s-%d", workspaceName(e.run.Key), n))
	if err != nil {
		return out, err
	}
	if err := s.ports.Store.InWorkspace(ctx, ws.ID, freeze); err != nil {
		return out, err
	}
	head, err := s.ports.Banks.Install(ctx, ws.ID, bank.Default, draft)
	if err != nil {
		return out, err
	}
	made, err := s.ports.Builds.Accept(ctx, build.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Trace: u.Sample,
		Messages: messages, Bank: bank.Default, Spec: e.spec.RunSpec, Keeping: keeping, Retry: true})
	return startedUnit{Workspace: ws.ID, Key: ws.Key, Name: ws.Name, Run: made.Ref.Run, Skills: head.Bank.Len()}, err
}

// bankFor returns the bank of a unit's row, and how its skills are chosen.
func (s *Service) bankFor(ctx context.Context, e evaluation, u unit) (d bank.Draft, keeping bank.SpanOptions,
	err error) {
	keeping = e.spec.Keeping
	seed, err := seedBank()
	if err != nil {
		return d, keeping, err
	}
	d = bank.Draft{Bank: seed, Action: bank.ActionImport, Reason: "row " + u.Row}
	draw := fmt.Sprintf("%s/%s/%s", e.spec.Seed, u.Row, u.Sample)
	switch u.Row {
	case Static:
		var primitives []memoryskill.Version
		for _, v := range seed.Versions() {
			if memoryskill.IsPrimitive(v.Skill.Name) {
				primitives = append(primitives, v)
			}
		}
		d.Bank, err = memoryskill.NewBank(memoryskill.DefaultCapacity, primitives...)
		keeping.K = len(primitives)
	case All:
		keeping.K = seed.Len()
	case Random:
		keeping.Draw = draw
	case BestFixed:
		set := u.Set
		if u.Kind == testUnit {
			if set, err = s.bestSet(ctx, e); err != nil {
				return d, keeping, err
			}
		}
		d.Bank, err = subset(seed, e.spec.sets()[set])
		keeping.K = d.Bank.Len()
	default:
		row := u.Row
		if row == Evolved {
			row, keeping.Draw = EvolvedLearned, draw
		}
		name := artifact(row)
		if _, _, named := bankOf(row); !named {
			name = trained(row)
		}
		head, err := s.ports.Banks.At(ctx, e.run.Ref.Workspace, name, 0)
		if err != nil {
			return d, keeping, err
		}
		d.Bank, d.Policy, d.Optimizer, d.Prompts = head.Bank, head.Policy, head.Optimizer, &head.Version.Prompts
	}
	return d, keeping, err
}

// trained returns the name of the bank that a training of a row made.
func trained(row string) string { return artifact(row) + "-trained" }

func subset(b memoryskill.Bank, names []string) (memoryskill.Bank, error) {
	var members []memoryskill.Version
	for _, v := range b.Versions() {
		if slices.Contains(names, v.Skill.Name) {
			members = append(members, v)
		}
	}
	return memoryskill.NewBank(b.Capacity(), members...)
}
