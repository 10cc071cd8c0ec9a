package search

import (
	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/search"
)

// VectorUnavailable is the value of Response.Vector if the embedder did not answer.
const VectorUnavailable = "unavailable"

// Response is the result of a search.
type Response struct {
	Results     []index.Result
	Lexical     Lexical
	Vector      string       // VectorUnavailable, or empty if vectors were compared
	Explanation *Explanation // if the request asks for it
}

// Lexical describes the search by words.
type Lexical struct {
	Exact  bool `json:"exact" doc:"Whether no other document has a higher score by words than the candidates. False if the search reached a limit."`
	Rounds int  `json:"rounds" doc:"Number of rounds in which the index was read."`
	Rows   int  `json:"rows" doc:"Estimated number of documents that were read."`
}

// Explanation describes how a search found and ranked its results.
type Explanation struct {
	Parameters search.Profile     `json:"parameters"`
	Words      []WordExplanation  `json:"words"`
	Rounds     []RoundExplanation `json:"rounds"`
}

// WordExplanation is a word of the query.
type WordExplanation struct {
	Word      string  `json:"word" doc:"The word as it is indexed."`
	Documents int     `json:"documents" doc:"Number of documents that contain it."`
	Weight    float64 `json:"weight" doc:"Its inverse document frequency; less for names of speakers."`
}

// RoundExplanation is a round of the search by words.
type RoundExplanation struct {
	Threshold float64          `json:"threshold" doc:"Sets with a higher bound were considered."`
	Sets      []SetExplanation `json:"sets" doc:"Empty if all documents were scored."`
	Rows      int              `json:"rows" doc:"Estimated number of documents in the sets."`
	Left      int              `json:"left" doc:"Number of sets that the budget excluded."`
}

// SetExplanation is a set of words; the round reads the documents that contain all of them.
type SetExplanation struct {
	Words []string `json:"words"`
	Bound float64  `json:"bound" doc:"Highest score that a document with only these words can have."`
}

func explain(query string, found candidates) *Explanation {
	texts := map[int32]string{}
	for _, word := range lexical.Words(query) {
		texts[lexical.Hash(word)] = word
	}
	out := &Explanation{
		Parameters: search.ProfileOf(found.weights),
		Words:      []WordExplanation{},
		Rounds:     []RoundExplanation{},
	}
	for _, w := range found.words {
		out.Words = append(out.Words, WordExplanation{Word: texts[w.Term], Documents: w.DF, Weight: w.Weight()})
	}
	for _, round := range found.Rounds {
		made := RoundExplanation{Threshold: round.Threshold, Sets: []SetExplanation{}, Rows: round.Rows,
			Left: round.Left}
		for i, set := range round.Sets {
			one := SetExplanation{Bound: round.Bounds[i]}
			for _, at := range set {
				one.Words = append(one.Words, texts[found.words[at].Term])
			}
			made.Sets = append(made.Sets, one)
		}
		out.Rounds = append(out.Rounds, made)
	}
	return out
}
