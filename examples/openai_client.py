"""Drives Weir with the openai SDK: a stream, a whole answer, a tool call, an error, a client that leaves.

    pip install openai
    weir serve --upstream http://127.0.0.1:8000 --access-log -
    python examples/openai_client.py http://127.0.0.1:8080/v1 MODEL

Each request names itself in `x-request-id`, so that its line in the access log is found at once. The names are
UUIDs, since some servers take nothing else there.
"""

import sys
import time
import uuid

import openai

base_url, model = sys.argv[1:3]
client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
question = [{"role": "user", "content": "Name three rivers."}]


def named(name):
    request_id = str(uuid.uuid4())
    print(f"{name:<10} {request_id}", end="  ")
    return {"x-request-id": request_id}


def stream():
    sent = time.monotonic()
    first = None
    text = ""
    usage = None
    for chunk in client.chat.completions.create(
        model=model,
        messages=question,
        max_tokens=40,
        stream=True,
        stream_options={"include_usage": True},
        extra_headers=named("stream"),
    ):
        usage = chunk.usage or usage
        if chunk.choices and chunk.choices[0].delta.content:
            first = first or time.monotonic()
            text += chunk.choices[0].delta.content
    tokens = usage.completion_tokens if usage else "unknown"
    print(f"TTFT {first - sent:.4f} s, {tokens} tokens, {len(text)} characters")


def whole():
    answer = client.chat.completions.create(
        model=model, messages=question, max_tokens=20, extra_headers=named("whole")
    )
    print(f"{answer.usage.completion_tokens} tokens, ended for {answer.choices[0].finish_reason}")


def tools():
    weather = {
        "type": "function",
        "function": {
            "name": "level",
            "description": "The level of a river",
            "parameters": {"type": "object", "properties": {"river": {"type": "string"}}},
        },
    }
    calls = 0
    for chunk in client.chat.completions.create(
        model=model,
        messages=question,
        tools=[weather],
        tool_choice={"type": "function", "function": {"name": "level"}},
        max_tokens=60,
        stream=True,
        extra_headers=named("tools"),
    ):
        calls += bool(chunk.choices and chunk.choices[0].delta.tool_calls)
    print(f"{calls} chunks of a tool call")


def error():
    try:
        client.chat.completions.create(
            model=model, messages="not a list", max_tokens=5, extra_headers=named("error")
        )
        print("none: this engine takes anything")
    except openai.APIStatusError as status:
        print(f"{status.status_code} {type(status).__name__}")


def leave():
    answer = client.chat.completions.create(
        model=model, messages=question, max_tokens=200, stream=True, extra_headers=named("leave")
    )
    for seen, _ in enumerate(answer):
        if seen == 5:
            break
    answer.close()
    print("closed after five chunks")


for example in (stream, whole, tools, error, leave):
    example()
