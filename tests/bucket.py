"""Reads the bucket of tests/s3.py with boto3, a second client: prints the key and SHA-256 digest of each object, and the
number of unfinished multipart uploads.

    python3 tests/bucket.py PORT
"""

import hashlib
import sys

import boto3

client = boto3.client(
    "s3", endpoint_url=f"http://127.0.0.1:{sys.argv[1]}", aws_access_key_id="key", aws_secret_access_key="secret", region_name="us-east-1"
)
for page in client.get_paginator("list_objects_v2").paginate(Bucket="bucket"):
    for found in page.get("Contents", []):
        digest = hashlib.sha256()
        for piece in client.get_object(Bucket="bucket", Key=found["Key"])["Body"].iter_chunks(1 << 20):
            digest.update(piece)
        print(found["Key"], digest.hexdigest())
print("unfinished", len(client.list_multipart_uploads(Bucket="bucket").get("Uploads", [])))
