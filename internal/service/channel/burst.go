package channel

import (
	"slices"
	"time"

	"cairn/internal/domain/channel"
)

// Limits of a burst: messages of a user that become one turn.
const (
	burstTime = 10 * time.Second // from the first message
	burstMost = 20               // messages
)

// divide returns a Divide that joins the messages of a user which follow each other within a time. 0 joins none.
// Changes of a message belong to its burst; commands and buttons are alone.
func (s *Service) divide(window time.Duration) channel.Divide {
	return func(open []channel.StoredEvent) ([]channel.StoredEvent, time.Duration) {
		head := open[0]
		if head.First != 0 { // selected before
			return selected(open, head.First), 0
		}
		if wait := filesWait(head); wait > 0 {
			return nil, wait
		}
		joins := func(e channel.StoredEvent) bool {
			_, _, command := s.commandOf(e.Event)
			return e.Kind == channel.Message && !command && e.Sender.ID == head.Sender.ID &&
				e.Mentioned == head.Mentioned
		}
		if !joins(head) {
			return open[:1], 0
		}
		burst, messages, ended := open[:1], 1, false
		for _, e := range open[1:] {
			changes := changesOneOf(burst, e)
			if ended = !changes && (!joins(e) || window == 0 || messages == burstMost); ended {
				break
			}
			if wait := filesWait(e); wait > 0 {
				return nil, wait
			}
			burst = open[:len(burst)+1]
			if !changes {
				messages++
			}
		}
		if ended || window == 0 {
			return burst, 0
		}
		if wait := min(window-burst[len(burst)-1].Age, burstTime-head.Age); wait > 0 && messages < burstMost {
			return nil, wait
		}
		return burst, 0
	}
}

// Times of an event whose files are being read.
const (
	filesPause    = time.Second     // until it is looked at again; the process that reads them does so at once
	filesPatience = 5 * time.Minute // after which it is handled without them
)

// filesWait returns how long an event waits for its files.
func filesWait(e channel.StoredEvent) time.Duration {
	if !e.FilesOpen || e.Age >= filesPatience {
		return 0
	}
	return filesPause
}

// selected returns the first events of a list that belong to a burst.
func selected(open []channel.StoredEvent, first int64) []channel.StoredEvent {
	n := slices.IndexFunc(open, func(e channel.StoredEvent) bool { return e.First != first })
	if n < 0 {
		return open
	}
	return open[:n]
}

// changesOneOf reports whether an event edits or deletes a message of a burst.
func changesOneOf(burst []channel.StoredEvent, e channel.StoredEvent) bool {
	if e.Kind != channel.Edited && e.Kind != channel.Deleted {
		return false
	}
	return slices.ContainsFunc(burst, func(b channel.StoredEvent) bool { return b.MessageID == e.MessageID })
}

// compose returns the messages of a burst as their last edits left them, without the deleted ones.
func compose(burst []channel.StoredEvent) (out []channel.StoredEvent) {
	for _, e := range burst {
		at := slices.IndexFunc(out, func(o channel.StoredEvent) bool {
			return o.MessageID == e.MessageID &&
				e.MessageID != ""
		})
		switch {
		case e.Kind == channel.Message:
			out = append(out, e)
		case at >= 0 && e.Kind == channel.Edited:
			out[at].Text = e.Text
		case at >= 0 && e.Kind == channel.Deleted:
			out = slices.Delete(out, at, at+1)
		}
	}
	return out
}
