package openaiapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cairn/internal/gateway/edge"
	"cairn/internal/service/agentrun"
)

// Models that every deployment has. Both stand for the model that the deployment configures.
const (
	defaultModel = "cairn"
	taskModel    = "cairn-task" // one reply, without a conversation and memory
)

// model is a model in a list.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // Unix time in seconds
	OwnedBy string `json:"owned_by"`
}

func (c *call) modelOf(id string) model {
	return model{ID: id, Object: "model", Created: c.options.Started.Unix(), OwnedBy: "cairn"}
}

// names returns the models that a request may name.
func (a *api) names() []string {
	out := []string{defaultModel}
	for _, m := range a.options.Models {
		out = append(out, defaultModel+"/"+m)
	}
	return append(out, taskModel)
}

func (c *call) models() error {
	all := []model{}
	for _, id := range c.names() {
		all = append(all, c.modelOf(id))
	}
	edge.WriteJSON(c.w, http.StatusOK, map[string]any{"object": "list", "data": all})
	return nil
}

func (c *call) model() error {
	id := c.r.PathValue("id")
	if err := c.checkModel(id); err != nil {
		return err
	}
	edge.WriteJSON(c.w, http.StatusOK, c.modelOf(id))
	return nil
}

func (a *api) checkModel(id string) error {
	if slices.Contains(a.names(), id) {
		return nil
	}
	return &failure{Status: http.StatusNotFound, Type: invalidRequest, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("model %.80q does not exist; use one of %s", id, strings.Join(a.names(), ", "))}
}

// choose sets the model of a turn.
func (a *api) choose(s *agentrun.Spec, id string) error {
	if name, ok := strings.CutPrefix(id, defaultModel+"/"); ok {
		s.Model, s.Images = name, a.options.TakesImages(name)
	}
	return a.checkModel(id)
}
