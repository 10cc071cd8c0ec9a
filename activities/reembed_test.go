package activities

import (
	"context"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

type reembedService struct{ calls }

func (s *reembedService) Begin(_ context.Context, in contract.ReembedInput) error {
	return s.note("begin %d %d", in.Workspace, in.Space)
}

func (s *reembedService) Batch(_ context.Context, in contract.ReembedBatchInput) (int, error) {
	return 7, s.note("batch %d %t", in.Space, in.Again)
}

func (s *reembedService) Switch(_ context.Context, in contract.ReembedSwitchInput) (bool, error) {
	return true, s.note("switch %d %t", in.Space, in.HandOver)
}

func (s *reembedService) Mark(_ context.Context, in contract.ReembedMarkInput) error {
	return s.note("mark %d %s", in.Space, in.State)
}

func TestReembedActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &reembedService{}
	a, c := Reembed{Service: s}, &s.calls
	ref := contract.ReembedRef{Workspace: 1, WorkspaceKey: "w1", Space: 2}
	calling(t, a.Begin, contract.ReembedInput{ReembedRef: ref}, c, "begin 1 2")
	calling(t, a.Mark, contract.ReembedMarkInput{ReembedRef: ref, State: "paused"}, c, "mark 2 paused")
	translates(t, a.Batch, contract.ReembedBatchInput{ReembedRef: ref, Again: true}, c, "batch 2 true",
		contract.ReembedBatchResult{Documents: 7})
	translates(t, a.Switch, contract.ReembedSwitchInput{ReembedRef: ref, HandOver: true}, c, "switch 2 true",
		contract.ReembedSwitchResult{Done: true})
	s.err = fault.New(fault.Misconfigured, "wrong dimensions", "")
	_, err := execute(t, a.Batch, contract.ReembedBatchInput{ReembedRef: ref})
	checkError(t, "batch", err, string(fault.Misconfigured), true, false, 0)
}
