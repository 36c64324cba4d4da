"""Reads a bucket with boto3, a second client: prints the key and SHA-256 digest of each object below a prefix, and the key and
`unfinished` of each unfinished multipart upload.

    python3 tests/bucket.py S3_URL    s3://BUCKET/PREFIX?…, as tests/s3.py prints it with a prefix
"""

import hashlib
import sys
from urllib.parse import parse_qs, urlsplit

import boto3

address = urlsplit(sys.argv[1])
settings = {name: values[0] for name, values in parse_qs(address.query).items()}
client = boto3.client(
    "s3",
    endpoint_url=settings["endpoint"],
    region_name=settings["region"],
    aws_access_key_id=settings["access_key_id"],
    aws_secret_access_key=settings["secret_access_key"],
)
below = {"Bucket": address.netloc, "Prefix": address.path.lstrip("/")}
for page in client.get_paginator("list_objects_v2").paginate(**below):
    for found in page.get("Contents", []):
        digest = hashlib.sha256()
        for piece in client.get_object(Bucket=address.netloc, Key=found["Key"])["Body"].iter_chunks(1 << 20):
            digest.update(piece)
        print(found["Key"], digest.hexdigest())
try:
    for page in client.get_paginator("list_multipart_uploads").paginate(**below):
        for found in page.get("Uploads", []):
            print(found["Key"], "unfinished")
except client.exceptions.NoSuchUpload:
    pass  # The answer of rclone if the bucket never had one.
