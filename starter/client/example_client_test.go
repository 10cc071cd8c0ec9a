package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"cairn/starter/client"
)

// This example adds a memory and finds it with a question.
func Example() {
	c, err := client.New(client.Config{}) // CAIRN_URL and CAIRN_KEY
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	ann := client.Target{Type: "personal", Target: "ann"}
	_, err = c.Add(ctx, client.NewMemory{Type: "personal", Target: "ann", Content: "Ann keeps bees."})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := c.Retrieve(ctx, "What does Ann keep?", client.Mode("fast"), client.Targets(ann))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range answer.Memories {
		fmt.Println(m.Content)
	}
	// Output: Ann keeps bees.
}

func ExampleNew() {
	// CAIRN_URL and CAIRN_KEY set the address and the key.
	c, err := client.New(client.Config{}, client.Mode("fast"), client.TopK(5))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	memories, err := c.List(context.Background(), client.Targets(client.Target{Target: "nina"}))
	fmt.Println(len(memories), err)
	// Output: 0 <nil>
}

func ExampleClient_Close() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c.Close()
	_, err = c.Get(context.Background(), "9f0c2d6e1a7b4c35")
	fmt.Println(errors.Is(err, client.ErrClosed))
	// Output: true
}

func ExampleError() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.Get(context.Background(), "9f0c2d6e1a7b4c35")
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Message)
		fmt.Println("hint:", e.Hint)
	}
	// Output:
	// 404 memory "9f0c2d6e1a7b4c35" not found
	// hint: list memories with GET /v1/memories
}

func ExampleError_Error() {
	err := &client.Error{Code: "not_found", Message: "memory not found"}
	fmt.Println(err.Error())
	// Output: memory not found [not_found]
}

func ExampleError_Is() {
	var err error = &client.Error{Code: "not_found", Message: "memory not found"}
	fmt.Println(errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrUnavailable))
	// Output: true false
}

func ExampleError_Unwrap() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = c.Get(ctx, "9f0c2d6e1a7b4c35")
	fmt.Println(errors.Is(err, context.Canceled)) // the cause of an unavailable error
	// Output: true
}
