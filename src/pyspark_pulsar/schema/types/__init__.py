"""Arrow types: conversion to Spark's types, comparison, and text for errors."""
