package store

import (
	"context"

	"cairn/internal/domain/modelcall"
	"cairn/internal/store/dbsqlc"
)

// insertCall stores the request of a call. In a conversation, the parts that its requests repeat are
// stored once, and shared parts once in the workspace. If a limit of the day has no room, insertCall
// returns the limit and stores no call. That is its last statement, because it locks the sums of the day.
func (q CallRepository) insertCall(ctx context.Context, w modelcall.Request, conversation *int64,
	limits dayLimits) (over string, err error) {
	label, err := encode("the label", w.Request.Label)
	if err != nil {
		return "", err
	}
	request := modelcall.Divided{Pieces: []string{string(w.Request.Body)}}
	if conversation != nil {
		request = modelcall.Divide(w.Request.Body, w.Request.Constant)
	}
	shas := request.SHAs()
	if len(shas) > 0 {
		of := make([]int64, len(shas)) // 0 for any conversation
		for i, shared := range request.Shared {
			if !shared {
				of[i] = *conversation
			}
		}
		if err := classify("store the parts of the request", q.q.RequestPartsPut(ctx, dbsqlc.RequestPartsPutParams{
			WorkspaceID: q.ws, Conversations: of, Shas: shas, Contents: request.Parts})); err != nil {
			return "", err
		}
	}
	over, err = q.q.CallInsert(ctx, dbsqlc.CallInsertParams{
		Limited:        limits.any(),
		MaxTokens:      limits.tokens,
		MaxMicros:      limits.micros,
		MaxDeployment:  limits.deployment,
		WorkspaceID:    q.ws,
		RunID:          w.Key.Run,
		Step:           w.Key.Step,
		Round:          int32(w.Key.Round),
		Stage:          w.Request.Label.Stage,
		Model:          w.Request.Model,
		Label:          label,
		Request:        request.Pieces,
		Parts:          shas,
		ConversationID: conversation,
		RequestSha:     w.SHA[:],
		Holder:         w.Holder,
		Lease:          w.Lease,
		Reserved:       w.Reserve,
		ReservedMicros: w.Micros,
	})
	return over, classify("store the request", err)
}
