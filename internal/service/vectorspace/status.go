package vectorspace

import (
	"context"
	"time"

	"cairn/internal/domain/index"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Report describes the spaces of a workspace.
type Report struct {
	Documents int           `json:"documents" doc:"Indexed documents of the workspace"`
	Vector    string        `json:"vector,omitempty" doc:"unavailable if no configured embedder serves the workspace's space; searches then compare words only"`
	Spaces    []SpaceReport `json:"spaces" doc:"Embedding spaces with vectors of the workspace, and the configured one"`
	Reembed   *Reembedding  `json:"reembed,omitempty" doc:"The latest re-embedding"`
}

// SpaceReport describes one space.
type SpaceReport struct {
	Space      int16   `json:"space"`
	Model      string  `json:"model"`
	Dims       int     `json:"dimensions"`
	State      string  `json:"state" doc:"active, previous, building or unused"`
	Configured bool    `json:"configured,omitempty" doc:"The space of the configured model"`
	Vectors    int     `json:"vectors" doc:"Documents with a vector"`
	Coverage   float64 `json:"coverage" doc:"Share of the documents with a vector, 0 to 1"`
}

// Reembedding is the latest re-embedding of a workspace.
type Reembedding struct {
	Space      int16           `json:"space"`
	Model      string          `json:"model"`
	Dims       int             `json:"dimensions"`
	State      string          `json:"state" doc:"running, paused, completed, cancelled or failed"`
	Reason     string          `json:"reason,omitempty" doc:"Why it failed"`
	Done       int             `json:"done" doc:"Vectors written"`
	Total      int             `json:"total" doc:"Documents without a vector"`
	Failed     int             `json:"failed" doc:"Documents that the model refused; they are found by their words"`
	Rate       int             `json:"rate,omitempty" doc:"Limit of documents per second"`
	Seconds    int             `json:"eta_seconds,omitempty" doc:"Estimated time to the end"`
	StartedAt  time.Time       `json:"started_at"`
	FinishedAt *time.Time      `json:"finished_at,omitempty"`
	Refused    []index.Refusal `json:"refused,omitempty" doc:"Up to 20 refused documents"`
}

// shownRefusals limits Reembedding.Refused.
const shownRefusals = 20

// Status describes the spaces of a workspace and its latest re-embedding.
func (s *Service) Status(ctx context.Context, ws int64) (out Report, err error) {
	var spaces []index.SpaceState
	var last index.ReembedProgress
	var found bool
	var refused []index.Refusal
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		// Each statement sees what was committed before it. The progress is read first, so that the spaces
		// are never older than the end that it reports.
		if last, found, err = tx.Reembeds().Last(ctx); err != nil {
			return err
		}
		if found {
			if refused, err = tx.Reembeds().Refusals(ctx, last.Space, shownRefusals); err != nil {
				return err
			}
		}
		size, err := tx.Spaces().Totals(ctx)
		if err != nil {
			return err
		}
		out.Documents = size.Documents
		spaces, err = tx.Spaces().Spaces(ctx)
		return err
	})
	if err != nil {
		return out, err
	}
	if found {
		out.Reembed = reembedding(last, refused, time.Now())
	}
	s.describe(&out, spaces, last)
	return out, nil
}

// describe adds the spaces to a report.
func (s *Service) describe(out *Report, spaces []index.SpaceState, last index.ReembedProgress) {
	out.Spaces = []SpaceReport{}
	for _, one := range spaces {
		r := SpaceReport{Space: one.ID, Model: one.Model, Dims: one.Dims, State: "unused", Vectors: one.Vectors,
			Configured: one.ID == s.Registry.Configured.ID}
		switch {
		case one.Active:
			r.State = "active"
			if _, ok := s.Registry.Serve(one.Space); !ok {
				out.Vector = search.VectorUnavailable
			}
		case last.Space == one.ID && !last.Ended():
			r.State = "building"
		case one.Previous:
			r.State = "previous"
		case one.Vectors == 0 && !r.Configured:
			continue
		}
		if out.Documents > 0 {
			r.Coverage = float64(one.Vectors) / float64(out.Documents)
		}
		out.Spaces = append(out.Spaces, r)
	}
}

func reembedding(p index.ReembedProgress, refused []index.Refusal, now time.Time) *Reembedding {
	out := &Reembedding{Space: p.Space, Model: p.Model, Dims: p.Dims, State: p.State, Reason: p.Reason, Done: p.Done,
		Total: p.Total, Failed: p.Failed, Rate: p.Rate, StartedAt: p.StartedAt, FinishedAt: p.FinishedAt,
		Refused: refused}
	if handled := p.Done + p.Failed; p.State == index.ReembedRunning && handled > 0 && p.Total > handled {
		out.Seconds = int(now.Sub(p.StartedAt).Seconds()*float64(p.Total-handled)/float64(handled)) + 1
	}
	return out
}

// Estimate describes the work of a re-embedding.
type Estimate struct {
	Model      string `json:"model"`
	Dims       int    `json:"dimensions"`
	Documents  int    `json:"documents" doc:"Documents without a vector of the model"`
	Characters int64  `json:"characters" doc:"Characters to embed"`
	Requests   int    `json:"requests" doc:"Requests to the endpoint"`
	Seconds    int    `json:"seconds,omitempty" doc:"Time at the given rate"`
}

// textsPerRequest is the number of texts that an embedder sends at once.
const textsPerRequest = 128

// Estimate counts what Start would embed.
func (s *Service) Estimate(ctx context.Context, ws int64, o Options) (out Estimate, err error) {
	to, err := s.target(ctx, ws, o.Rollback)
	if err != nil {
		return out, err
	}
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		size, err := tx.Spaces().Missing(ctx, to.ID, allDocuments)
		out = Estimate{Model: to.Model, Dims: to.Dims, Documents: size.Documents, Characters: size.Characters,
			Requests: (size.Documents + textsPerRequest - 1) / textsPerRequest}
		return err
	})
	if o.Rate > 0 {
		out.Seconds = (out.Documents + o.Rate - 1) / o.Rate
	}
	return out, err
}
