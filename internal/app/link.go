package app

import (
	"fmt"
	"net/url"
	"strings"
)

// WorkflowLink is a workflow's page in Temporal UI, empty when nobody knows the
// UI or the workflow.
func (h *App) WorkflowLink(id string) string {
	if h.Config.TemporalUI == "" || id == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", strings.TrimRight(h.Config.TemporalUI, "/"),
		url.PathEscape(h.Config.TemporalNamespace), url.PathEscape(id))
}
