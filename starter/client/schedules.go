package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// ScheduleChange changes a scheduled prompt. Nil fields stay.
type ScheduleChange struct {
	Cron     *string `json:"cron,omitempty"`
	Prompt   *string `json:"prompt,omitempty"`
	TimeZone *string `json:"time_zone,omitempty"` // empty: that of the workspace
}

// ChangeSchedule changes a scheduled prompt.
func (c *Client) ChangeSchedule(ctx context.Context, name string, change ScheduleChange) error {
	return c.call(ctx, http.MethodPatch, "/v1/schedules/"+url.PathEscape(name), change, nil, rand.Text())
}

// NextFiring is a firing to come.
type NextFiring struct {
	At     time.Time `json:"at"`
	Local  string    `json:"local"`        // on the clock of the task
	Change string    `json:"clock_change"` // skipped or doubled by a clock change, usually empty
	Note   string    `json:"note"`
}

// NextFirings returns the next firings of a task, 1 to 100.
func (c *Client) NextFirings(ctx context.Context, name string, most int) ([]NextFiring, error) {
	var out struct {
		Firings []NextFiring `json:"firings"`
	}
	path := fmt.Sprintf("/v1/schedules/%s/preview?limit=%d", url.PathEscape(name), most)
	err := c.call(ctx, http.MethodGet, path, nil, &out, "")
	return out.Firings, err
}
