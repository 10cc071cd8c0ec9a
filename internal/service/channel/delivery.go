package channel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/paging"
)

// Next returns the next delivery of a route that may be sent now, 0 without one.
func (s *Service) Next(ctx context.Context, in contract.DeliverInput) (out contract.NextDeliveryResult, err error) {
	quiet, err := s.quiet(ctx, in.Workspace)
	if err != nil {
		return out, err
	}
	out.Delivery, err = s.Store.NextDelivery(ctx, in.Workspace, in.Route, quiet)
	return out, err
}

// quiet reports whether the quiet hours of a workspace hold. Only direct replies are sent in them.
func (s *Service) quiet(ctx context.Context, ws int64) (bool, error) {
	chosen, err := s.Settings(ctx, ws)
	if err != nil {
		return false, err
	}
	hours, err := chosen.Quiet()
	if err != nil {
		return false, fault.Wrap(err, fault.Internal, "read the quiet hours", "")
	}
	return hours.Holds(time.Now()), nil
}

// Deliver makes the workflow of a route send what is open. Done means that nothing is. What waits for the end of the
// quiet hours is open, but does not start the workflow.
func (s *Service) Deliver(ctx context.Context, ws access.Workspace, route int64) (done bool, err error) {
	account, open, err := s.Store.OpenRoute(ctx, ws.ID, route)
	if err != nil || !open || s.Driver == nil {
		return !open, err
	}
	next, err := s.Next(ctx, contract.DeliverInput{Workspace: ws.ID, Route: route})
	if err != nil || next.Delivery == 0 {
		return false, err
	}
	return false, s.Driver.Deliver(ctx, ws.Key, ws.ID, route, account)
}

// SendPart sends the next message of a delivery. A repetition sends a message again only if the outcome of the
// earlier attempt is unknown.
func (s *Service) SendPart(ctx context.Context, a Account, in contract.DeliveryInput) (out contract.SendPartResult,
	err error) {
	ws, id := in.Workspace, in.Delivery
	d, err := s.Store.Delivery(ctx, ws, id)
	if err != nil || d.State != DeliveryReady {
		return contract.SendPartResult{Done: true}, err
	}
	if d, err = s.quiesce(ctx, ws, d); err != nil {
		return out, err
	}
	limits := a.Adapter.Limits()
	p, err := s.part(ctx, ws, d, limits)
	if err == nil && p.Parts == 0 { // a turn without a reply
		err = s.withdraw(ctx, a, ws, d)
	}
	if err != nil {
		return out, err
	}
	if p.Number == 0 {
		return contract.SendPartResult{Done: true}, s.Store.EndDelivery(ctx, ws, id, DeliverySent, "", false)
	}
	messageID, err := s.send(ctx, a, ws, d, p)
	var refused *SendError
	if errors.As(err, &refused) {
		return contract.SendPartResult{Done: refused.Permanent}, s.refused(ctx, ws, d, p, refused)
	}
	if err != nil {
		return out, fault.Wrap(err, fault.Unavailable, "send a message to "+a.Name, "")
	}
	if err := s.Store.EndPart(ctx, ws, id, p.Number, messageID, true); err != nil {
		return out, err
	}
	if p.Number == p.Parts {
		return contract.SendPartResult{Done: true}, s.Store.EndDelivery(ctx, ws, id, DeliverySent, "", false)
	}
	return contract.SendPartResult{Spacing: limits.Spacing}, nil
}

// send sends a message and returns its ID. The first one of a reply replaces what is shown of it.
func (s *Service) send(ctx context.Context, a Account, ws int64, d channel.Delivery, p channel.StoredPart) (id string,
	err error) {
	if p.Number == 1 {
		if id, done, err := s.replace(ctx, a, ws, d, p.Text); done || err != nil {
			return id, err
		}
	}
	part := channel.Part{Key: fmt.Sprintf("d%d-%d-%d", ws, d.ID, p.Number), Text: p.Text, Repeated: p.Attempts > 1}
	if p.Number == p.Parts {
		part.Buttons = d.Body.Buttons
	}
	if part.Repeated && !a.Adapter.Limits().Decides {
		s.ambiguous(a, d.ID, p.Number)
	}
	return a.Adapter.Send(ctx, d.Place, part)
}

// ambiguous counts a message that a platform may show twice.
func (s *Service) ambiguous(a Account, delivery int64, part int) {
	metrics.DeliveryAmbiguous(a.Platform)
	s.Log.Warn("message sent again after an unknown outcome", "account", a.Name, "delivery", delivery, "part", part)
}

// part returns the next message of a delivery. The first call divides the text into messages.
func (s *Service) part(ctx context.Context, ws int64, d channel.Delivery, limits channel.Limits) (channel.StoredPart,
	error) {
	p, err := s.Store.NextPart(ctx, ws, d.ID)
	if err != nil || p.Number != 0 || p.Parts != 0 {
		return p, err
	}
	texts := channel.Split(d.Body.Text, limits.Units)
	if len(texts) > limits.Parts {
		texts = append(texts[:limits.Parts-1:limits.Parts-1], "…")
	}
	if err := s.Store.PutParts(ctx, ws, d.ID, texts); err != nil {
		return p, err
	}
	return s.Store.NextPart(ctx, ws, d.ID)
}

// refused stores that a platform refused a message. A permanent refusal ends the delivery. If the chat is gone, the
// route pauses.
func (s *Service) refused(ctx context.Context, ws int64, d channel.Delivery, p channel.StoredPart,
	why *SendError) error {
	if err := s.Store.EndPart(ctx, ws, d.ID, p.Number, "", false); err != nil {
		return err
	}
	if why.Permanent {
		s.Log.Warn("delivery failed permanently", "account", d.Place.Account, "delivery", d.ID, "error", why)
		return s.Store.EndDelivery(ctx, ws, d.ID, DeliveryDead, why.Reason, why.Gone)
	}
	return why
}

// GiveUp ends a delivery that failed for too long.
func (s *Service) GiveUp(ctx context.Context, in contract.GiveUpInput) error {
	return s.Store.EndDelivery(ctx, in.Workspace, in.Delivery, DeliveryDead, in.Reason, false)
}

// ListDeliveries returns a page of the deliveries in a state, or of all: dead ones first, then the latest.
func (s *Service) ListDeliveries(ctx context.Context, ws int64, state, cursor string,
	limit int) (page []channel.DeliveryView,
	next string, err error) {
	var before, dead int64
	max, err := paging.Rows(limit)
	if err == nil && cursor != "" {
		var key []string
		if key, err = paging.Key(cursor, 2); err == nil {
			dead, err = paging.Integer(key[0])
		}
		if err == nil {
			before, err = paging.Integer(key[1])
		}
	}
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.Deliveries(ctx, ws, state, before, dead == 1, max)
	page, next = paging.Cut(rows, limit, func(last channel.DeliveryView) string {
		dead := "0"
		if last.State == DeliveryDead {
			dead = "1"
		}
		return paging.Cursor(dead, strconv.FormatInt(last.ID, 10))
	})
	return page, next, err
}

// Retry makes a dead delivery open again.
func (s *Service) Retry(ctx context.Context, ws, id int64) error { return s.reopen(ctx, ws, id, false) }

// Drop ends a delivery that is not sent.
func (s *Service) Drop(ctx context.Context, ws, id int64) error { return s.reopen(ctx, ws, id, true) }

func (s *Service) reopen(ctx context.Context, ws, id int64, drop bool) error {
	found, err := s.Store.Reopen(ctx, ws, id, drop)
	if err == nil && !found {
		err = fault.New(fault.NotFound, fmt.Sprintf("dead delivery %d not found", id),
			"run `cairn deliveries list --state dead` to see them")
	}
	return err
}
