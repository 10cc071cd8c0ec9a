package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
)

// Report is the full status of a run.
type Report struct {
	Run        string       `json:"run"`
	Request    string       `json:"request"`
	Title      string       `json:"conversation"`
	Status     run.Status   `json:"status"`
	Outcome    run.Outcome  `json:"outcome,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	Endpoint   string       `json:"endpoint,omitempty"` // of a waiting run: "503, attempt 3, next in 40 s"
	Code       string       `json:"code,omitempty"`
	Messages   int          `json:"messages"`
	Tasks      []TaskReport `json:"tasks"`
	Usage      run.Usage    `json:"usage"`
	WorkflowID string       `json:"workflow_id"`
	Link       string       `json:"link,omitempty"` // to the Temporal UI
	Seconds    float64      `json:"seconds,omitempty"`
	Calls      []run.Call   `json:"-"`
	CreatedAt  time.Time    `json:"created_at"`
	Pruned     run.Pruned   `json:"pruned,omitempty" enum:"calls,all" doc:"What was removed after its retention: the model calls, or also the steps, tool calls and the result"`
}

// TaskReport is one task of a Report.
type TaskReport struct {
	Key         string               `json:"key"`
	Name        string               `json:"task"`
	Stage       distillation.Stage   `json:"stage"`
	Outcome     distillation.Outcome `json:"outcome,omitempty"`
	Reason      string               `json:"reason,omitempty"`
	Messages    int                  `json:"messages"`
	Lang        string               `json:"lang"`
	Verdict     string               `json:"verdict,omitempty"` // how the task seemed to end
	Proof       []int                `json:"proof,omitempty"`   // messages that show it
	Skill       string               `json:"skill,omitempty"`   // canonical name
	SkillID     int64                `json:"skill_id,omitempty"`
	Version     int                  `json:"version,omitempty"`
	Status      skill.Status         `json:"status,omitempty"` // current state of the skill
	Quality     *skill.Quality       `json:"quality,omitempty"`
	Description string               `json:"description,omitempty"`
	Package     string               `json:"package,omitempty"`  // location of the zip
	SkillMD     string               `json:"skill_md,omitempty"` // location of SKILL.md
	Degraded    []string             `json:"degraded,omitempty"`
	Violations  []string             `json:"violations,omitempty"`
	Notes       []string             `json:"notes,omitempty"`
	Calls       int                  `json:"model_calls"`
	Tokens      int64                `json:"tokens"`
	WorkflowID  string               `json:"workflow_id"`
	Link        string               `json:"link,omitempty"`
}

// Report returns the full status of a run.
func (s *Service) Report(ctx context.Context, ref run.Ref) (out Report, err error) {
	j, err := s.load(ctx, ref, nil)
	if err != nil {
		return Report{}, err
	}
	out = Report{Run: ref.Run, Request: j.run.Key, Title: j.conv.Title, Status: j.run.Status, Outcome: j.run.Outcome,
		Reason: j.run.Reason, Pruned: j.run.Pruned,
		Messages: len(j.conv.Messages), WorkflowID: j.run.WorkflowID, CreatedAt: j.run.CreatedAt, Tasks: []TaskReport{}}
	if j.run.StartedAt != nil && j.run.EndedAt != nil {
		out.Seconds = j.run.EndedAt.Sub(*j.run.StartedAt).Seconds()
	}
	var result distillation.Result
	if err := json.Unmarshal(j.run.Result, &result); err != nil {
		return Report{}, fmt.Errorf("decode the result of run %s: %w", ref.Run, err)
	}
	out.Code = result.Code
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if out.Usage, err = tx.Runs().Usage(ctx, ref.Run); err != nil {
			return err
		}
		if out.Calls, err = tx.Calls().Calls(ctx, ref); err != nil {
			return err
		}
		out.Status, out.Endpoint = waiting(out.Status, out.Calls)
		tasks, err := tx.Tasks().Tasks(ctx, ref.Run)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			r, err := s.reportTask(ctx, tx, t, out.Calls)
			if err != nil {
				return err
			}
			r.WorkflowID = j.run.WorkflowID + "/" + t.Key
			out.Tasks = append(out.Tasks, r)
		}
		return nil
	})
	return out, err
}

func (s *Service) reportTask(ctx context.Context, tx store.Tx, t distillation.Task, calls []run.Call) (TaskReport,
	error) {
	r := TaskReport{Key: t.Key, Name: t.Name, Stage: t.Stage, Outcome: t.Outcome, Reason: t.Reason,
		Messages: len(t.Seqs), Lang: t.Lang, Verdict: t.Verdict, Proof: t.Proof, Notes: t.Notes, Quality: t.Quality}
	for _, c := range calls {
		if strings.HasPrefix(c.Key.Step, t.Key+"/") {
			r.Calls++
			r.Tokens += c.Input + c.Output
		}
	}
	if t.Skill == 0 {
		return r, nil
	}
	head, err := tx.Skills().SkillHead(ctx, t.Skill)
	if isNotFound(err) { // deleted since
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Skill, r.SkillID, r.Version, r.Status = head.Name, t.Skill, t.Version, head.Status
	v, err := tx.Skills().Version(ctx, t.Skill, t.Version)
	if isNotFound(err) { // pruned since
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Description, r.Degraded, r.Violations = v.Description, v.Degraded, v.Violations
	r.Package, r.SkillMD = s.Blobs.Locate(v.PackageKey), s.Blobs.Locate(markdownKey(v.PackageKey))
	return r, nil
}

// waiting returns the status to show for a run, with the state of the endpoint that it waits for.
func waiting(status run.Status, calls []run.Call) (run.Status, string) {
	if status != run.Running {
		return status, ""
	}
	for _, c := range slices.Backward(calls) {
		if !c.Waits() {
			continue
		}
		answer := "no response"
		if c.Status > 0 {
			answer = fmt.Sprint(c.Status)
		}
		next := "now"
		if c.RetryIn > 0 {
			next = fmt.Sprintf("in %d s", int(math.Ceil(c.RetryIn.Seconds())))
		}
		return run.Waiting, fmt.Sprintf("%s, attempt %d, next %s", answer, c.Attempts, next)
	}
	return status, ""
}
