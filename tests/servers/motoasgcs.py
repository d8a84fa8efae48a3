"""moto's S3 for clients of Google's storage: ``motoasgcs.py PORT``.

Each request gets the form of a signature of S3, which moto does not check: it would break on Google's tokens, and give
what was written with a token to nobody without.
"""

import sys
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

moto = DomainDispatcherApplication(create_backend_app)


def app(environ: dict[str, Any], start_response: Any) -> Any:
    scope = "AKIATESTTESTTEST0001/20260101/us-east-1/s3/aws4_request"
    environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    return moto(environ, start_response)


run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
