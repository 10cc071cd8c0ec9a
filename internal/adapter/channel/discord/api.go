package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	service "cairn/internal/service/channel"
)

// apiError is a response of Discord that refuses a request. It keeps nothing of the request.
type apiError struct {
	Status     int
	Code       rest.JSONErrorCode // Discord's own; 0 means that the response did not come from the API
	Message    string
	RetryAfter time.Duration // of status 429
}

func (e *apiError) Error() string {
	return fmt.Sprintf("status %d, code %d: %.200s", e.Status, e.Code, e.Message)
}

// Codes of Discord that are no matter of the chat: https://discord.com/developers/docs/topics/opcodes-and-status-codes
const (
	unknownMessage  = 10008
	explicitContent = 20009
	slowMode        = 20016
	overloaded      = 130000
	autoModeration  = 200000 // and the next one
	harmfulLink     = 240000
)

// Codes of channels in which the bot cannot write, in responses with status 400.
const (
	wrongChannel   = 50008
	wrongType      = 50024
	archivedThread = 50083
	lockedThread   = 160005
)

// do sends a request, and reads the response into out unless it is nil. It stops with ctx.
func (a *Adapter) do(ctx context.Context, e *rest.CompiledEndpoint, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	err := a.rest.Do(e, in, out, func(c *rest.RequestConfig) {
		c.Ctx = ctx
		c.Request = c.Request.WithContext(ctx)
	})
	var refused rest.Error
	if errors.As(err, &refused) && refused.Response != nil {
		return convert(refused)
	}
	return apiclient.Redact(err, a.Token)
}

func convert(refused rest.Error) *apiError {
	e := &apiError{Status: refused.Response.StatusCode, Code: refused.Code, Message: refused.Message}
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	if e.Status == http.StatusTooManyRequests {
		e.RetryAfter = retryAfter(refused.RsBody, refused.Response.Header)
	}
	return e
}

// retryAfter returns how long Discord asks to wait. The body states it more exactly than the header.
func retryAfter(body []byte, header http.Header) time.Duration {
	var limit struct {
		RetryAfter float64 `json:"retry_after"`
	}
	if err := json.Unmarshal(body, &limit); err != nil || limit.RetryAfter <= 0 {
		limit.RetryAfter = 1
		_, _ = fmt.Sscan(header.Get("Retry-After"), &limit.RetryAfter) // keeps 1 if it is missing
	}
	return time.Duration(math.Ceil(limit.RetryAfter*1000)) * time.Millisecond
}

// read is do for requests that the receive loop needs. It waits for a rate limit at most three times.
func (a *Adapter) read(ctx context.Context, e *rest.CompiledEndpoint, out any) error {
	for try := 0; ; try++ {
		err := a.do(ctx, e, nil, out)
		var refused *apiError
		if try == 3 || !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests {
			return err
		}
		if err := sleep(ctx, refused.RetryAfter); err != nil {
			return err
		}
	}
}

// sleep waits, but not longer than ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// isGone reports whether Discord's API refused a request because of the chat or the rights of the bot in it.
func isGone(err error) bool {
	var refused *apiError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case 0, unknownMessage, explicitContent, autoModeration, autoModeration + 1, harmfulLink:
		return false
	case wrongChannel, wrongType, archivedThread, lockedThread:
		return true
	}
	return refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound
}

// refusal converts an error of a request that writes. Errors that leave the outcome unknown are returned as they
// are.
func refusal(err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return &service.SendError{Reason: "rate limited", RetryAfter: e.RetryAfter}
	case e.Status >= http.StatusInternalServerError:
		return err
	case e.Status == http.StatusUnauthorized, e.Code == 0, e.Code == slowMode, e.Code == overloaded:
		// The token, a proxy or the load is the cause, not the chat. Nothing was sent.
		return &service.SendError{Reason: e.Error(), RetryAfter: time.Minute}
	}
	return &service.SendError{Reason: e.Error(), Permanent: true, Gone: isGone(err)}
}

// channelOf returns the channel or the thread of a place.
func channelOf(to channel.Place) (snowflake.ID, error) {
	text := to.Thread
	if text == "" {
		text = to.Chat
	}
	id, err := snowflake.Parse(text)
	if err != nil || id == 0 {
		return 0, &service.SendError{Reason: fmt.Sprintf("invalid channel %.40q", text), Permanent: true, Gone: true}
	}
	return id, nil
}
