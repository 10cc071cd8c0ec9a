package httpapi

import (
	"cmp"
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/service/feedback"
)

// FeedbackRequest is feedback about a reply.
type FeedbackRequest struct {
	Rating       string   `json:"rating,omitempty" enum:"good,bad" doc:"Rating of the reply; a correction implies bad"`
	Correction   string   `json:"correction,omitempty" maxLength:"4000" doc:"The correct answer"`
	Conversation string   `json:"conversation,omitempty" maxLength:"200" doc:"With message_id, the turn that is rated"`
	MessageID    string   `json:"message_id,omitempty" maxLength:"200"`
	Question     string   `json:"question,omitempty" maxLength:"2000" doc:"The question, if no turn is named"`
	Answer       string   `json:"answer,omitempty" maxLength:"4000" doc:"The answer, if no turn is named"`
	Bank         string   `json:"bank,omitempty" maxLength:"64" doc:"The bank of memory skills that learns from the feedback; default: the bank default"`
	Voter        string   `json:"voter,omitempty" maxLength:"200" doc:"The caller's ID of the user who votes. Only a key with the scope gateway votes for others; with another key, the key is the voter"`
	Speaker      *Speaker `json:"speaker,omitempty" doc:"The user who votes, as in the turn. Its ID counts if voter is not set"`
}

// FeedbackResult is the effect of feedback.
type FeedbackResult struct {
	Question string `json:"question"`
	Case     int64  `json:"case,omitempty" doc:"ID of the hard case that a bad answer creates"`
	Failures int    `json:"failures,omitempty" doc:"How many times the question was answered badly"`
	Voter    string `json:"voter" doc:"Who voted: key/ID of the API key, gateway/ID of the key of a gateway, or person/HASH of its user. A later vote on the same answer replaces this one"`
	Burst    bool   `json:"burst,omitempty" doc:"The key sent more than 20 votes within a minute. None of them counts; send the feedback again later"`
}

func (g *Gateway) feedbackRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/feedback", id: "giveFeedback", tag: tagMemory,
		scope: access.Write, bytes: smallBody,
		summary: "Send feedback on a reply",
		about: "A bad answer becomes a hard case, from which the bank of memory skills evolves. A good answer " +
			"halves the failures of its question. Feedback on a turn is also an outcome of the memory skills that " +
			"created the memories in its prompt. A voter has one vote on an answer: a later one replaces it. The " +
			"voter is the key. If the key has the scope gateway, the voter is the user in voter, speaker or the " +
			"header X-Cairn-Person."},
		g.giveFeedback)
}

func (g *Gateway) giveFeedback(ctx context.Context, in *struct {
	IdempotencyKey
	Body FeedbackRequest
}) (*bodyOf[FeedbackResult], error) {
	who := person(ctx, in.IdempotencyKey)
	noted, err := g.Feedback.Note(ctx, who.Workspace, who.Op, in.Body.input(asking(ctx)))
	out := &bodyOf[FeedbackResult]{FeedbackResult{Question: noted.Question, Voter: noted.Voter, Burst: noted.Burst}}
	if noted.Case != nil {
		out.Body.Case, out.Body.Failures = noted.Case.ID, noted.Case.Failures
	}
	return out, err
}

// input returns the feedback that a principal sends.
func (r FeedbackRequest) input(from access.Principal) feedback.Input {
	out := feedback.Input{Rating: r.Rating, Correction: r.Correction, Conversation: r.Conversation,
		MessageID: r.MessageID, Question: r.Question, Answer: r.Answer, Bank: r.Bank}
	if from.Account == "" { // not the key of a gateway
		return out
	}
	person := r.Voter
	if r.Speaker != nil {
		person = cmp.Or(person, r.Speaker.ID)
	}
	if person = cmp.Or(person, from.Person); person != "" {
		out.Person = from.Account + "/" + person
	}
	return out
}
