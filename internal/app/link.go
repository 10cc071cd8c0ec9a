package app

import (
	"fmt"
	"net/url"
	"strings"
)

// WorkflowLink returns the URL of a workflow in the Temporal UI. It returns "" if id is empty or the
// URL of the UI is not configured.
func (h *App) WorkflowLink(id string) string {
	if h.Config.TemporalUI == "" || id == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", strings.TrimRight(h.Config.TemporalUI, "/"),
		url.PathEscape(h.Config.TemporalNamespace), url.PathEscape(id))
}
